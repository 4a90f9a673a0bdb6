#include "scenarios/loader/plan_inputs.hpp"

#include <fmt/format.h>

#include <set>

#include "scenarios/loader/json/json_reader.hpp"
#include "scenarios/loader/lengths/read_lengths.hpp"
#include "scenarios/loader/load_scenario.hpp"

namespace packsim {

std::vector<Transformer> models_of_scenarios(const DataPaths& data) {
  std::set<std::string> names;
  Problems problems;
  for (const std::string& scenario : names_of(kScenarioFiles, data)) {
    const JsonDocument document =
        read_json(path_of(kScenarioFiles, scenario, data), problems, Comments::allowed);
    JsonReader reader(document, problems);
    reader.allow_any_keys();
    names.insert(reader.string("model"));
  }
  problems.throw_if_any();
  std::vector<Transformer> models;
  for (const std::string& name : names) models.push_back(load_model(name, data));
  return models;
}

std::vector<LengthSet> shipped_length_sets(const DataPaths& data) {
  std::vector<LengthSet> sets;
  for (const char* name : {"mixture_real_short", "mixture_real_long_2k"})
    sets.push_back({name, read_lengths(fmt::format("{}/scenarios/lengths/{}.csv", data.root, name))});
  return sets;
}

}  // namespace packsim
