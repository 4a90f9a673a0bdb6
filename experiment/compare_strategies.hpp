#pragma once

#include <functional>
#include <span>
#include <string>

#include "experiment/plans/plan_strategy.hpp"
#include "experiment/results/report.hpp"
#include "experiment/simulate_plan.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// How to run. The results do not depend on n_threads, progress and planned.
struct RunOptions {
  int n_threads = 1;  ///< strategies at the same time; the results do not depend on it
  Level level = Level::step;
  /// Called from any thread with what is going on, e.g. "hbp: replaying iteration 4096".
  std::function<void(const std::string&)> progress = {};
  /// Called from any thread with what is run, before it is priced: the lengths of the data set, and what
  /// became of them.
  std::function<void(const StrategySpec&, const PlannedStrategy&,
                     std::span<const std::int32_t> lengths_tokens)>
      planned = {};
};

/// Packs the scenario's data with each of its strategies, simulates the schedules, and compares them. The
/// manifest's version and command, and total_s and peak_memory_bytes, are left to the caller.
///
/// Throws what the length readers and pack() throw; a plan that does not fit in memory is a result.
Report compare_strategies(const Scenario& scenario, const RunOptions& options = {});

/// The same for the strategy of this name alone. There is no baseline, so the result has no speed-up, and its
/// lower bound is over this strategy's own iteration sizes.
///
/// Throws std::invalid_argument for a name that is not among the scenario's, and as above.
StrategyResult simulate_strategy(const Scenario& scenario, const std::string& name,
                                 const RunOptions& options = {});

/// Simulates a schedule file on the scenario's model and cluster, in place of the scenario's data and
/// strategies. The times of the run that wrote the file are repeated to the last bit.
///
/// Throws PlanFileError, std::system_error, and std::invalid_argument where file and scenario do not fit.
Report replay_schedule_file(const Scenario& scenario, const std::string& path,
                            const RunOptions& options = {});

}  // namespace packsim
