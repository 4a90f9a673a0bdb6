#pragma once

#include <string>
#include <vector>

#include "scenarios/scenario.hpp"

namespace packsim {

/// Removes all strategies but the named ones from the scenario and keeps their order. Without names, it
/// removes none. If the baseline is removed, the first strategy that remains is the new baseline. Throws
/// std::invalid_argument for a name that no strategy of the scenario has.
void keep_strategies(Scenario& scenario, const std::vector<std::string>& names);

}  // namespace packsim
