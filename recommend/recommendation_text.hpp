#pragma once

#include <string>
#include <vector>

#include "recommend/sensitivity.hpp"

namespace packsim {

/// The answer for people: the best cluster, what to set, runners-up, every cluster with what rules it out,
/// and what the answer depends on.
std::string recommendation_text(const Recommendation& recommendation,
                                const std::vector<Sensitivity>& sensitivities, int width_columns);

/// All candidates and facts for programs (docs/planning.md), by this version of packsim.
std::string recommendation_json(const Recommendation& recommendation,
                                const std::vector<Sensitivity>& sensitivities, const std::string& version);

}  // namespace packsim
