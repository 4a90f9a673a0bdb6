#pragma once

#include <pybind11/numpy.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/bindings/simulator/bindings.hpp"
#include "scenarios/loader/data_paths.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/scenario.hpp"

namespace packsim::python {

using Settings = std::vector<std::string>;
using Int32Array = py::array_t<std::int32_t, py::array::c_style>;
/// Name and lengths of each source.
using NamedArrays = std::vector<std::pair<std::string, Int32Array>>;

/// The data that come with the package. library: the path of this module, beside which an installed package
/// has them.
DataPaths data_paths(const std::string& library);

/// The sources that arrays stand for, which are copied; none for none. Throws as given_sources() does.
std::vector<LengthSource> sources_of(const std::optional<NamedArrays>& arrays);

/// Where a scenario is from, so that it can be read again with other settings, on any thread.
struct ScenarioSource {
  std::string text_or_path;
  std::string name;  ///< of the text; empty: it is a path
  DataPaths data;
  Settings settings;
  std::vector<LengthSource> lengths;  ///< in place of the scenario's, if there are any

  /// Reads it with these settings after its own. Throws as load_scenario() does.
  Scenario load(const Settings& more = {}, MistakenStrategies mistaken = MistakenStrategies::refuse) const;
};

}  // namespace packsim::python
