#pragma once

#include <span>

#include "experiment/plans/plan_strategy.hpp"
#include "experiment/results/strategy_result.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// What a planner of global batches that works beside the training costs: how long the GPUs wait for plans,
/// given a time for each plan and planner processes. Does nothing for strategies that solve nothing.
///
/// Where the strategy has no solve_s, what this machine took for each global batch stands in for it, and the
/// outcome is among the timings. step_s: [n_iterations] of the plan's schedule.
void set_planning(const StrategySpec& spec, const PlannedStrategy& plan, std::span<const double> step_s,
                  int n_gpus, StrategyResult& result);

}  // namespace packsim
