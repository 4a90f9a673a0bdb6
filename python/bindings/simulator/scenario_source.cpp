#include "python/bindings/simulator/scenario_source.hpp"

#include "scenarios/loader/data_root.hpp"
#include "scenarios/loader/lengths/with_lengths.hpp"
#include "scenarios/loader/load_scenario.hpp"

namespace packsim::python {

DataPaths data_paths(const std::string& library) {
  return {.root = find_data_root(library)};
}

std::vector<LengthSource> sources_of(const std::optional<NamedArrays>& arrays) {
  if (!arrays) return {};
  std::vector<NamedLengths> lengths;
  for (const auto& [name, array] : *arrays)
    lengths.push_back({.name = name, .lengths_tokens = {array.data(), array.data() + array.size()}});
  const py::gil_scoped_release others_may_run;
  return given_sources(std::move(lengths));
}

Scenario read_scenario(const std::string& text_or_path, const std::string& name, const Settings& settings,
                       const DataPaths& data, MistakenStrategies mistaken) {
  return name.empty() ? load_scenario(text_or_path, data, settings, mistaken)
                      : load_scenario_text(text_or_path, name, data, settings, mistaken);
}

}  // namespace packsim::python
