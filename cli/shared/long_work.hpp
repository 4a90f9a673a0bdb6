#pragma once

#include <string>

#include "scenarios/scenario.hpp"

namespace packsim {

/// Says on stderr that the work may take long, if the estimate is a minute or more. To be called before the
/// work starts, so that no line of Progress is written over.
///
/// search: a part of the work that the estimate does not count, such as "the search for plans of hbp"; empty
/// if there is none.
void announce_long_work(double work_s, const std::string& search);

/// "the search for plans of" the strategies of the scenario whose plans are searched, which
/// estimated_work_s() does not count; empty if there are none.
std::string search_for_plans(const Scenario& scenario);

}  // namespace packsim
