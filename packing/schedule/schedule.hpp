#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "packing/pack.hpp"
#include "packing/placed_pack.hpp"

namespace packsim {

/// What the metrics and the cost model need to know of one micro-batch.
struct MicroBatch {
  std::int64_t tokens = 0;         ///< of the data, padding not counted
  std::int64_t padded_tokens = 0;  ///< added on top by the padding policy
  /// Sum of squared lengths over its samples: proportional to the attention work of the data.
  std::int64_t attention_pairs = 0;
  /// The same with padding, as the kernels see it: padded rows in a batch of rows; the padding at the end of
  /// a packed row as one more document.
  std::int64_t computed_pairs = 0;
  std::int32_t n_items = 0;
  std::int32_t longest_tokens = 0;
};

/// [n_packs] of one group, under a padding policy. pad_multiple_tokens is read by Padding::multiple only.
std::vector<MicroBatch> micro_batches(const Packing& packing, std::size_t group, Padding padding,
                                      std::int64_t pad_multiple_tokens = 1);

/// How the packs of one group run: on how many ranks, how many a step.
struct GroupPlan {
  int gpus_per_pack = 1;           ///< of a DP rank
  int gc_layers = 0;               ///< checkpointed layers
  int n_dp_ranks = 1;              ///< GPUs / gpus_per_pack
  int micro_batches_per_rank = 1;  ///< in one iteration
  std::int64_t packs_per_iteration() const {
    return static_cast<std::int64_t>(n_dp_ranks) * micro_batches_per_rank;
  }
};

/// Micro-batches of one rank in an iteration of `tokens_per_iteration` tokens over `n_dp_ranks` ranks: as
/// many packs as fit, at least one. Throws std::invalid_argument for more than kMostMicroBatches.
int micro_batches_that_fit(std::int64_t tokens_per_iteration, int n_dp_ranks, std::int64_t capacity_tokens);

/// No trainer accumulates gradients over more, and counts of packs stay far from their limits.
inline constexpr int kMostMicroBatches = 65536;

struct ScheduleOptions {
  int n_gpus = 1;
  /// Tokens of one iteration over all ranks, from which the micro-batches per rank follow: as many as fit, at
  /// least one. 0: micro_batches_per_rank says it.
  std::int64_t tokens_per_iteration = 0;
  int micro_batches_per_rank = 1;
  PackOrder order = PackOrder::shuffled;
  LastIteration last_iteration = LastIteration::repeat;
  /// HBP's curriculum: so many iterations at the start of the run come from the first (shortest) group.
  std::int64_t curriculum_iterations = 0;
  int epochs = 1;
  std::uint32_t seed = 1024;  ///< epoch e shuffles with seed + e
};

/// Which packs are trained when and where: what a trainer replays and the simulator prices.
struct Schedule {
  std::vector<GroupPlan> groups;
  std::vector<PlacedPack> placed;  ///< iteration after iteration
  std::vector<Iteration> iterations;
  int n_gpus = 1;
  int epochs = 1;

  std::int64_t dropped_packs = 0;   ///< left out by LastIteration::drop, over all epochs
  std::int64_t repeated_packs = 0;  ///< trained twice by LastIteration::repeat, over all epochs
  std::int64_t dropped_tokens = 0;
  std::int64_t repeated_tokens = 0;
  std::int64_t curriculum_iterations = 0;  ///< those that the short group could fill

  std::span<const PlacedPack> packs(const Iteration& iteration) const {
    return {placed.data() + iteration.first_placed, iteration.n_placed};
  }
  /// GPUs that share a pack, the same for all packs of the iteration; none where packs differ.
  std::optional<int> gpus_per_pack(const Iteration& iteration) const;
};

/// How the packs of a group run: GPUs that share a pack, and checkpointed layers.
struct GroupParallelism {
  int gpus_per_pack = 1;
  int gc_layers = 0;
};

/// Cuts packs into iterations of one group each. Rank r of a group with g GPUs a pack is the GPUs from r g
/// on; an iteration's packs go round the ranks, a round for each time.
///
/// batches: [n_groups][n_packs] of that group. parallelism: [n_groups]. capacities_tokens: [n_groups].
/// Throws std::invalid_argument where n_gpus is not a multiple of a group's GPUs a pack or a count is out of
/// range.
Schedule make_schedule(std::span<const std::vector<MicroBatch>> batches,
                       std::span<const std::int64_t> capacities_tokens,
                       std::span<const GroupParallelism> parallelism, const ScheduleOptions& options);

/// Repeats iterations that a strategy has formed itself every epoch. Of the options the GPUs, the epochs, the
/// seed and the curriculum (iterations of the first group alone) count, and of the orders as_packed; all
/// others shuffle the iterations.
Schedule make_schedule(const PlannedIterations& planned, std::span<const GroupParallelism> parallelism,
                       const ScheduleOptions& options);

/// HBP algorithm 7: pack indices by ascending attention work, ties in pack order. Where the packs fill whole
/// iterations, cutting this order into consecutive ones minimises the sum over iterations of the largest
/// work.
std::vector<std::uint32_t> balanced_order(std::span<const MicroBatch> batches);

}  // namespace packsim
