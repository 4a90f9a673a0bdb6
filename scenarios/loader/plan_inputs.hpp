#pragma once

#include <string>
#include <vector>

#include "models/coverage/measurement_list.hpp"
#include "scenarios/loader/data_paths.hpp"

namespace packsim {

/// Every model in models/architectures. Throws ScenarioError, FileError.
std::vector<Transformer> shipped_models(const DataPaths& data);

/// The real mixtures in scenarios/lengths that plans draw packs from. Throws ScenarioError, FileError.
std::vector<LengthSet> shipped_length_sets(const DataPaths& data);

}  // namespace packsim
