#pragma once

#include "experiment/plans/plan_strategy.hpp"
#include "experiment/results/strategy_result.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// How well a run uses its GPUs. wall_s: simulated time of the run, above 0.
Utilisation utilisation(const Scenario& scenario, const PlannedStrategy& plan, double wall_s);

}  // namespace packsim
