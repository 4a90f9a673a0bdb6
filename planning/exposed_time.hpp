#pragma once

#include <span>
#include <vector>

namespace packsim {

/// How global batches are planned while the GPUs train.
struct PlannerService {
  int n_processes = 1;         ///< batches that are planned at the same time
  int look_ahead_batches = 1;  ///< planning of batch i begins when iteration i - look_ahead starts;
                               ///< 0: when iteration i - 1 has ended
};

/// Seconds that the GPUs wait for the plan of each iteration; the first waits for all of its own.
///
/// solve_s: the time to plan each batch. model_s: the time to train each. FlexSP's released code is one
/// process that looks one batch ahead, where the wait is solve - model or nothing, after the first batch.
/// Throws std::invalid_argument for spans of different lengths, negative times, and fewer than one process.
std::vector<double> exposed_time_s(std::span<const double> solve_s, std::span<const double> model_s,
                                   const PlannerService& service);

}  // namespace packsim
