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

/// Reads a scenario, on any thread. name: of the text; empty: it is a path. Throws as load_scenario() does.
Scenario read_scenario(const std::string& text_or_path, const std::string& name, const Settings& settings,
                       const DataPaths& data, MistakenStrategies mistaken = MistakenStrategies::refuse);

}  // namespace packsim::python
