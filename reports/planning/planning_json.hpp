#pragma once

#include <string>

#include "reports/planning/planning_data.hpp"

namespace packsim {

/// Numbers with the digits that the page has. What is computed of them is then the same in the program and on
/// the page, also where two points are almost equal.
PlanningData rounded(PlanningData data);

/// The points as the scripts of the page read them: a list for each column, not an object for each point.
/// Texts, and numbers with few values, are a list of values and an index into it for each point.
std::string planning_json(const PlanningData& data);

}  // namespace packsim
