#pragma once

#include <vector>

#include "scenarios/scenario.hpp"

namespace packsim {

/// The ZeRO stages that a strategy may choose, ascending; empty if it has the one of its plan. A strategy
/// that names none may choose 1, 2, 3 and its plan's if its plan is searched.
std::vector<int> choice_of_zero_stages(const Scenario& scenario, const StrategySpec& spec);

/// The parallel plans that a search starts from, without degrees of sequences: the strategy's own plan with
/// each value of every dimension (scenarios/search_space) that it may choose and that is possible. A strategy
/// that may use the packs of others also starts from their plans, if these execute steps in the same way.
std::vector<ParallelPlan> base_plans(const Scenario& scenario, const StrategySpec& spec);

/// Whether a plan that the search starts from is the strategy's own.
bool is_usual_base(const Scenario& scenario, const StrategySpec& spec, const ParallelPlan& base);

}  // namespace packsim
