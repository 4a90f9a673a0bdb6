#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "models/cost_model.hpp"
#include "packing/schedule.hpp"
#include "sim/barrier.hpp"

namespace packsim {

/// What replaying a schedule showed. Times are in seconds of simulated time.
struct RunMetrics {
  std::vector<double> step_s;  ///< [n_iterations]
  double total_s = 0;
  double step_mean_s = 0;
  double step_p99_s = 0;  ///< nearest rank: the smallest step that 99 % of the steps do not exceed

  /// GPU time by cause, the share of all GPU time: sums to 1.
  double linear_fraction = 0;
  double attention_fraction = 0;
  double recompute_fraction = 0;
  double alltoall_fraction = 0;
  double overhead_fraction = 0;  ///< fixed costs of micro-batches and iterations
  double idle_fraction = 0;      ///< waiting at barriers for slower ranks
  std::uint64_t n_events = 0;
};

/// Replays every iteration of the schedule in simulated time: the ranks of an iteration run their
/// micro-batches one after another and meet at the barriers; the next iteration starts when the iteration's
/// fixed cost has passed after the last rank.
///
/// batches: [n_groups][n_packs]. progress, where given, is called now and then with the iterations done.
RunMetrics replay(const Schedule& schedule, std::span<const std::vector<MicroBatch>> batches,
                  const CostModel& cost_model, Barrier barrier,
                  const std::function<void(std::int64_t)>& progress = {});

}  // namespace packsim
