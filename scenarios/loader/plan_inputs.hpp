#pragma once

#include <string>
#include <vector>

#include "models/coverage/measurement_list.hpp"
#include "scenarios/loader/data_paths.hpp"

namespace packsim {

/// The models of the scenarios in scenarios/, each once. Throws ScenarioError, FileError.
std::vector<Transformer> models_of_scenarios(const DataPaths& data);

/// The real mixtures in scenarios/lengths that plans draw packs from. Throws ScenarioError, FileError.
std::vector<LengthSet> shipped_length_sets(const DataPaths& data);

}  // namespace packsim
