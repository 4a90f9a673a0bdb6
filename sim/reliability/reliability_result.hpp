#pragma once

#include <cstdint>

#include "sim/reliability/run_clock.hpp"

namespace packsim {

/// 5, 50 and 95 % of runs are done by these times.
struct WallQuantiles {
  double p05_s = 0;
  double p50_s = 0;
  double p95_s = 0;
};

/// How long a run takes that may fail. expected_wall_s is the sum of work, checkpoints, restarts and lost
/// time, which are means as well.
struct ReliabilityResult {
  double expected_wall_s = 0;
  double standard_error_s = 0;  ///< of expected_wall_s, from the number of replicas; 0 of a closed form
  double sd_wall_s = 0;         ///< between runs
  WallQuantiles quantiles;

  double n_failures = 0;
  double work_s = 0;
  double checkpoint_s = 0;  ///< waits for checkpoints, without those that a failure destroyed
  double restart_s = 0;     ///< time from failures to work again, with the wait for a replacement
  double lost_s = 0;        ///< time of running whose outcome a failure destroyed

  double checkpoint_interval_s = 0;  ///< the interval that was used
  std::int64_t n_checkpoints = 0;    ///< checkpoints that count, including the one at the end
  double gpu_days = 0;               ///< of expected_wall_s, for the GPUs of the run and its spare units

  /// The share of the time that is work; 1 where there is none.
  double effective_fraction() const { return expected_wall_s > 0 ? work_s / expected_wall_s : 1.0; }
};

/// What a run has whether or not it fails: work, checkpoints, their interval. The rest is 0.
ReliabilityResult failure_free(const RunClock& clock);

}  // namespace packsim
