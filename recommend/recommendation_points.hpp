#pragma once

#include <string>
#include <string_view>

#include "reports/planning/planning_data.hpp"

namespace packsim {

/// The candidates, the question and the sensitivity of a recommendation.json (docs/planning.md) for a
/// planning page. path: the file that the text is from, for messages.
///
/// Throws ScenarioError if the text is no JSON, and std::invalid_argument with the place if it is no
/// recommendation.
PlanningData recommendation_points(const std::string& path, std::string_view text);

}  // namespace packsim
