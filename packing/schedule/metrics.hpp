#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/schedule/schedule.hpp"

namespace packsim {

/// sum_i (max - x_i) / (max N): the share of N workers' time that is spent waiting for the slowest one when
/// worker i has x_i to do. 0 where nobody has anything to do. Source: HBP (arXiv 2503.07680), section 3.1.
double imbalance(std::span<const double> work);

/// The ratios of a schedule. docs/metrics.md defines each, with a worked example.
struct ScheduleMetrics {
  std::int64_t iterations = 0;
  std::int64_t trained_tokens = 0;  ///< over all epochs, repeats included, padding not
  std::int64_t padded_tokens = 0;   ///< over all epochs
  /// Attention balance ratio over GPUs, mean of the iterations. GPUs that share a pack have equal parts of
  /// it, so with one SP degree this is the ratio over DP ranks.
  double abr = 0;
  double abr_slots = 0;     ///< the same over slots of the widest group's SP degree, work summed in a slot
  double abr_weighted = 0;  ///< over GPUs, one ratio of sums: iterations weigh by their attention time
  double dbr = 0;           ///< distance (token) balance ratio over GPUs, mean of the iterations
  double cr = 0;            ///< share of the tokens trained with an SP degree above 1
  double pr = 0;            ///< share of padding among computed tokens, one ratio of sums
  double ave_t_tokens = 0;  ///< tokens of a DP rank in an iteration, padding not counted
};

/// batches: [n_groups][n_packs] as given to make_schedule.
ScheduleMetrics measure(const Schedule& schedule, std::span<const std::vector<MicroBatch>> batches);

/// Attention pairs of each DP rank in one iteration, its micro-batches summed; where SP degrees differ, the
/// part of each GPU. Writes [n_dp_ranks] or [n_gpus] to `work`. batches: [n_groups][n_packs].
void attention_work(const Schedule& schedule, const Iteration& iteration,
                    std::span<const std::vector<MicroBatch>> batches, std::vector<double>& work);

/// How well packs are filled; the names are those of NeMo's metadata.
struct PackStatistics {
  std::int64_t n_packs = 0;
  double samples_per_pack = 0;  ///< "packing factor"
  double tokens_per_pack = 0;
  double fill_fraction = 0;              ///< tokens over pack length, own packs left out; NaN for rows
  double squared_length_per_sample = 0;  ///< mean of length squared
  double squared_length_per_pack = 0;    ///< mean of the sum of squared lengths
};

/// Over all groups of a packing.
PackStatistics pack_statistics(const Packing& packing);

}  // namespace packsim
