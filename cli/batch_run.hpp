#pragma once

#include <memory>
#include <vector>

#include "packing/pack.hpp"
#include "planning/cbc_assignment_solver.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// What a strategy that forms iterations is told.
struct BatchRun {
  std::vector<GroupSpec> groups;  ///< the strategy's own, or all that it may choose from
  BatchSetting setting;
  std::unique_ptr<CbcAssignmentSolver> solver;  ///< keeps setting.solver
};

/// One; or, for a strategy that chooses its groups, all among which the best has to be found, none where
/// nothing fits in memory. GPUs regroup inside an iteration only where neither pipelines nor experts tie
/// ranks together; else there is a run for each SP degree. longest_tokens: of the samples.
///
/// Throws std::invalid_argument where such a strategy would have to fill an interleaved pipeline.
std::vector<BatchRun> batch_runs(const Scenario& scenario, const StrategySpec& spec,
                                 std::int64_t longest_tokens);

/// The plan at another ZeRO stage, for runs that may choose it: gradients of ZeRO 2, and all states of ZeRO
/// 3, travel beside computation in every framework that has these stages. Its own stage is as the plan says.
ParallelPlan with_zero_stage(const ParallelPlan& plan, int zero_stage);

/// The same without prices, for checks.
BatchSetting unpriced_setting(const Scenario& scenario, const StrategySpec& spec);

/// Takes groups out that no pack is in.
void drop_empty_groups(Packing& packing, std::vector<GroupSpec>& groups);

}  // namespace packsim
