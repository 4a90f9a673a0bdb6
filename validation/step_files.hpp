#pragma once

#include <vector>

#include "models/coverage/published_step.hpp"
#include "scenarios/loader/data_paths.hpp"

namespace packsim {

/// The training steps of held_out_steps.json. Throws as load_published_steps() does.
std::vector<PublishedStep> load_held_out_steps(const DataPaths& data);
/// Those of published_steps.json, then those of held_out_steps.json.
std::vector<PublishedStep> load_all_steps(const DataPaths& data);

}  // namespace packsim
