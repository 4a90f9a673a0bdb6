#pragma once

#include <functional>
#include <span>
#include <string>

#include "reports/report.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// Tries every strategy's options and policies on the data, without packing.
/// Throws ScenarioError with all that is refused: over-long samples under the policy `error`, for instance.
void check_strategies(const Scenario& scenario, std::span<const std::int32_t> lengths_tokens);

/// How finely steps are simulated.
enum class Level {
  step,  ///< micro-batches as single operations; nothing contends for links
  op,    ///< runs of kernels, exchanges and transfers, which share links and slow computation down
};

struct RunOptions {
  int n_threads = 1;  ///< strategies at the same time; the results do not depend on it
  Level level = Level::step;
  /// Called from any thread with what is going on, e.g. "hbp: replaying iteration 4096".
  std::function<void(const std::string&)> progress;
};

/// Packs the scenario's data with each of its strategies, replays the schedules, and reports. The manifest's
/// version and command, and total_s and peak_memory_bytes, are left to the caller.
///
/// Throws what the length readers and pack() throw; a plan that does not fit in memory is a result.
Report run_scenario(const Scenario& scenario, const RunOptions& options);

}  // namespace packsim
