#pragma once

#include <string>

#include "reports/planning/planning_data.hpp"

namespace packsim {

/// One self-contained page on which an engineer picks a cluster among points: the answer, filters, the front
/// of hours against money, scaling, a map of two settings, what the answer depends on, and a table. It loads
/// nothing. Texts of the data are shown and never interpreted.
std::string planning_page(const PlanningData& data);

}  // namespace packsim
