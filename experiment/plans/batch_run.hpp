#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "experiment/pricers/shared_prices.hpp"
#include "packing/pack.hpp"
#include "planning/solver/cbc_assignment_solver.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// The input of a strategy that forms whole iterations, apart from the samples.
struct BatchRun {
  /// The groups in the scenario. If the strategy chooses its groups: all candidates or, where groups were
  /// chosen before, those of them.
  std::vector<GroupSpec> groups;
  BatchSetting setting;
  std::unique_ptr<CbcAssignmentSolver> solver;  ///< owns setting.solver
};

/// None if the strategy chooses its groups and no group fits in memory. longest_tokens: the longest sample.
std::optional<BatchRun> batch_run(const Scenario& scenario, const StrategySpec& spec,
                                  std::int64_t longest_tokens, ScenarioPricers& pricers);

/// BatchRun::setting without prices, for checks of a strategy that pack nothing.
BatchSetting unpriced_setting(const Scenario& scenario, const StrategySpec& spec);

/// Removes the groups without packs from both arguments.
void drop_empty_groups(Packing& packing, std::vector<GroupSpec>& groups);

}  // namespace packsim
