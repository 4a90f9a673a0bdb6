#pragma once

#include <functional>
#include <span>
#include <string>

#include "experiment/plan_strategy.hpp"
#include "experiment/report.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// How finely steps are simulated.
enum class Level {
  step,  ///< micro-batches as single operations; nothing contends for links
  op,    ///< runs of kernels, exchanges and transfers, which share links and slow computation down
};

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

/// Packs the scenario's data with each of its strategies, replays the schedules, and reports. The manifest's
/// version and command, and total_s and peak_memory_bytes, are left to the caller.
///
/// Throws what the length readers and pack() throw; a plan that does not fit in memory is a result.
Report run_scenario(const Scenario& scenario, const RunOptions& options);

/// Replays a plan file on the scenario's model and cluster, in place of the scenario's data and strategies.
/// What wrote it with its prices is repeated bit by bit.
///
/// Throws PlanFileError, std::system_error, and std::invalid_argument where plan and scenario do not fit.
Report run_plan_file(const Scenario& scenario, const std::string& path, const RunOptions& options);

}  // namespace packsim
