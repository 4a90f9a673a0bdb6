#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/schedule/schedule.hpp"

namespace packsim {

/// sum_i (max - x_i) / (max N): the share of the time of N workers that they spend waiting for the slowest
/// one, if worker i has work x_i. 0 if there is no work. Source: HBP (arXiv 2503.07680), section 3.1.
double imbalance(std::span<const double> work);

/// The ratios of a schedule. docs/metrics.md defines each, with a worked example.
/// An iteration in which ranks wait for at most this part of the attention time is balanced.
inline constexpr double kBalancedAbr = 0.05;

struct ScheduleMetrics {
  std::int64_t iterations = 0;
  std::int64_t trained_tokens = 0;            ///< over all epochs, with repeated packs, without padding
  std::int64_t padded_tokens = 0;             ///< over all epochs
  std::int64_t largest_iteration_tokens = 0;  ///< of one iteration, with repeated packs, without padding
  /// Attention balance ratio over GPUs, mean over iterations. GPUs that share a pack do equal parts of its
  /// work, so with one SP degree this is the ratio over DP ranks.
  double abr = 0;
  /// ABR over slots: as many GPUs as the widest group's SP degree, their work summed.
  double abr_slots = 0;
  /// ABR over GPUs as one ratio of sums, so that iterations count by their attention time.
  double abr_weighted = 0;
  double balanced_fraction = 0;  ///< iterations whose ABR is at most kBalancedAbr, of all
  double dbr = 0;                ///< distance balance ratio: ABR with tokens, padding included
  double cr = 0;                 ///< share of the tokens that are trained with an SP degree above 1
  double pr = 0;                 ///< share of padding among all computed tokens, one ratio of sums
  double ave_t_tokens = 0;       ///< mean tokens of a DP rank in an iteration, without padding
};

/// batches: [n_groups][n_packs] as given to make_schedule. abr_of_iterations: if given, the ABR of each
/// iteration is added to its end.
ScheduleMetrics measure(const Schedule& schedule, std::span<const std::vector<MicroBatch>> batches,
                        std::vector<double>* abr_of_iterations = nullptr);

/// Writes to `work` the attention pairs of each DP rank in one iteration, summed over its micro-batches:
/// [n_dp_ranks]. If the packs of the iteration have different SP degrees, it writes the part of each GPU
/// instead: [n_gpus]. batches: [n_groups][n_packs].
void attention_work(const Schedule& schedule, const Iteration& iteration,
                    std::span<const std::vector<MicroBatch>> batches, std::vector<double>& work);

/// How well packs are filled; the names are those of NeMo's metadata.
struct PackStatistics {
  std::int64_t n_packs = 0;
  double samples_per_pack = 0;  ///< "packing factor"
  double tokens_per_pack = 0;
  /// Tokens over pack length, without packs longer than their capacity; NaN for Layout::rows.
  double fill_fraction = 0;
  double squared_length_per_sample = 0;  ///< mean of length squared
  double squared_length_per_pack = 0;    ///< mean of the sum of squared lengths
};

/// Statistics cover all groups of a packing.
PackStatistics pack_statistics(const Packing& packing);

}  // namespace packsim
