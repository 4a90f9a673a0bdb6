#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "experiment/plans/plan_strategy.hpp"
#include "experiment/results/report.hpp"
#include "experiment/simulate_plan.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

class SharedWork;

/// How to run the strategies of a scenario. Of these options, only `level` and `only_times`
/// change the results.
struct RunOptions {
  int n_threads = 1;  ///< number of strategies that run at the same time
  Level level = Level::step;
  /// Most memory for one step at op level, of one thread; more throws StepTooLarge.
  double most_step_bytes = std::numeric_limits<double>::infinity();
  bool only_times = false;  ///< leaves lower bounds and the loss bias out of the results
  /// Whether a scenario all of whose strategies fail gives a report of failures, not an exception.
  bool keeps_failures = false;
  /// What this job has in common with others; null: nothing. replay_schedule_file() does not use it.
  SharedWork* shared = nullptr;
  /// Called from any thread with progress messages, such as "hbp: simulating iteration 4096 of 8192".
  std::function<void(const std::string&)> progress = {};
  /// Whether the results are wanted now, with only_times; asked from any thread with each progress message,
  /// and before each strategy. Strategies that have no result by then are left out of the report.
  std::function<bool()> is_over = [] { return false; };
  /// Called once before packing, with estimated_work_s() on one thread. replay_schedule_file() does not call
  /// it.
  std::function<void(double work_s)> estimated = {};
  /// Called from any thread with the packs and the schedule of each strategy, before they are simulated.
  /// lengths_tokens: [n_samples] of the data set, before anything is cut. replay_schedule_file() does not
  /// call it.
  std::function<void(const StrategySpec&, const PlannedStrategy&,
                     std::span<const std::int32_t> lengths_tokens)>
      planned = {};
};

/// Packs the scenario's data with each of its strategies, simulates the schedules, and compares them. The
/// caller fills in the manifest's version and command, and total_s and peak_memory_bytes.
///
/// Throws what the length readers, check_strategies() and pack() throw. A plan that does not fit in memory is
/// a result, not an error.
Report compare_strategies(const Scenario& scenario, const RunOptions& options = {});

/// The same for the strategy of this name alone. There is no baseline, so the result has no speed-up, and its
/// lower bound is over this strategy's own iteration sizes.
///
/// Throws std::invalid_argument if the scenario has no such strategy, and what compare_strategies() throws.
StrategyResult simulate_strategy(const Scenario& scenario, const std::string& name,
                                 const RunOptions& options = {});

/// The bytes of the schedule file with the plan of the strategy of this name, without simulating it.
/// normaliser: the name of the loss normaliser that makes its weights. Of the options, only `progress`
/// counts.
///
/// Throws what simulate_strategy() and plan_file_of() throw.
std::vector<std::byte> schedule_file_of(const Scenario& scenario, const std::string& name,
                                        const std::string& version, const std::string& normaliser,
                                        const RunOptions& options = {});

/// Simulates a schedule file on the scenario's model and cluster, in place of the scenario's data and
/// strategies. The times equal those of the run that wrote the file to the last bit.
///
/// Throws PlanFileError, std::system_error, and std::invalid_argument if the file does not match the
/// scenario.
Report replay_schedule_file(const Scenario& scenario, const std::string& path,
                            const RunOptions& options = {});

}  // namespace packsim
