#include "scenarios/loader/plan_inputs.hpp"

#include <fmt/format.h>

#include "scenarios/loader/lengths/read_lengths.hpp"
#include "scenarios/loader/load_scenario.hpp"

namespace packsim {

std::vector<Transformer> shipped_models(const DataPaths& data) {
  std::vector<Transformer> models;
  for (const std::string& name : names_of(kModelFiles, data)) models.push_back(load_model(name, data));
  return models;
}

std::vector<LengthSet> shipped_length_sets(const DataPaths& data) {
  std::vector<LengthSet> sets;
  for (const char* name : {"mixture_real_short", "mixture_real_long_2k"})
    sets.push_back({name, read_lengths(fmt::format("{}/scenarios/lengths/{}.csv", data.root, name))});
  return sets;
}

}  // namespace packsim
