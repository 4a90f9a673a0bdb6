#pragma once

#include <span>

#include "experiment/plans/plan_strategy.hpp"
#include "experiment/results/strategy_result.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// Adds to a result what it costs to plan global batches while the run trains: how long the GPUs wait for
/// plans, if each plan takes solve_s seconds (options of strategy flexsp). Does nothing for strategies that
/// do not plan in this way, which have no PlannedStrategy::solves.
///
/// If the strategy has no solve_s, the times that this machine needed for each global batch take its place.
/// The waits then go to result.measured, because they differ from machine to machine. step_s: [n_iterations
/// of plan.schedule].
void set_planning(const StrategySpec& spec, const PlannedStrategy& plan, std::span<const double> step_s,
                  int n_gpus, StrategyResult& result);

}  // namespace packsim
