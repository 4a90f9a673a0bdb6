#pragma once

#include <string>
#include <vector>

#include "scenarios/scenario.hpp"

namespace packsim {

/// Leaves only the named strategies, in the scenario's order, or all where none is named; the baseline is the
/// first one left if it is not among them. Throws std::invalid_argument for a name that is not the
/// scenario's.
void keep_strategies(Scenario& scenario, const std::vector<std::string>& names);

}  // namespace packsim
