#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "packing/pack.hpp"
#include "planning/solver/cbc_assignment_solver.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// What a strategy that forms iterations is told.
struct BatchRun {
  std::vector<GroupSpec> groups;  ///< the strategy's own, or all that it may choose from
  BatchSetting setting;
  std::unique_ptr<CbcAssignmentSolver> solver;  ///< keeps setting.solver
};

/// None where a strategy chooses its groups and nothing fits in memory. longest_tokens: of the samples.
std::optional<BatchRun> batch_run(const Scenario& scenario, const StrategySpec& spec,
                                  std::int64_t longest_tokens);

/// The setting of batch_run() without prices, for checks.
BatchSetting unpriced_setting(const Scenario& scenario, const StrategySpec& spec);

/// Takes groups out that no pack is in.
void drop_empty_groups(Packing& packing, std::vector<GroupSpec>& groups);

}  // namespace packsim
