#include "scenarios/scenario.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "python/bindings/simulator/bindings.hpp"
#include "python/bindings/simulator/scenario_source.hpp"
#include "scenarios/loader/lengths/with_lengths.hpp"
#include "scenarios/loader/load_scenario.hpp"

namespace packsim::python {
namespace {

Scenario with_arrays(const Scenario& scenario, const NamedArrays& arrays) {
  const std::vector<LengthSource> given = sources_of(arrays);
  const py::gil_scoped_release others_may_run;
  return with_sources(scenario, given);
}

// Those of with_arrays(): name and lengths of each source.
NamedArrays given_arrays(const Scenario& scenario) {
  NamedArrays arrays;
  for (const LengthSource& source : scenario.lengths.mix) {
    if (source.given == nullptr) continue;
    const std::vector<std::int32_t>& lengths = source.given->lengths_tokens;
    arrays.emplace_back(source.source, Int32Array(static_cast<py::ssize_t>(lengths.size()), lengths.data()));
  }
  return arrays;
}

std::vector<std::string> strategy_names(const Scenario& scenario) {
  std::vector<std::string> names;
  for (const StrategySpec& spec : scenario.strategies) names.push_back(spec.name);
  return names;
}

}  // namespace

void add_scenario(py::module_& module) {
  py::class_<Scenario>(module, "Scenario")
      .def("with_lengths", with_arrays)
      .def("given_lengths", given_arrays)
      .def_property_readonly("strategies", strategy_names)
      .def_readonly("name", &Scenario::name)
      .def_readonly("description", &Scenario::description)
      .def_readonly("path", &Scenario::path)
      .def_readonly("hash", &Scenario::scenario_hash)
      .def_readonly("text", &Scenario::scenario_text)
      .def_readonly("baseline", &Scenario::baseline);

  module.def(
      "read_scenario",
      [](const std::string& text_or_path, const std::string& name, const Settings& settings,
         const std::string& library) {
        return read_scenario(text_or_path, name, settings, data_paths(library));
      },
      py::call_guard<py::gil_scoped_release>());
}

}  // namespace packsim::python
