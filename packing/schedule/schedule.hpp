#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "packing/options/limits.hpp"
#include "packing/pack.hpp"
#include "packing/placed_pack.hpp"

namespace packsim {

/// What the metrics and the cost model need to know about one micro-batch.
struct MicroBatch {
  std::int64_t tokens = 0;         ///< tokens of the data, without padding
  std::int64_t padded_tokens = 0;  ///< padding tokens that the policy adds
  /// Sum of the squared lengths of its samples: proportional to the attention work of the data. If tokens
  /// attend across samples, the square of its tokens.
  std::int64_t attention_pairs = 0;
  /// The same with padding, as attention kernels compute it. In a batch of rows every row counts with its
  /// padded length; in a packed row the padding at the end counts as one more document, or, if tokens attend
  /// across samples, belongs to the only one.
  std::int64_t computed_pairs = 0;
  std::int32_t n_items = 0;
  std::int32_t longest_tokens = 0;
};

/// The micro-batches of one group under a padding policy: [n_packs]. Only Padding::multiple reads
/// pad_multiple_tokens.
std::vector<MicroBatch> micro_batches(const Packing& packing, std::size_t group, Padding padding,
                                      std::int64_t pad_multiple_tokens = 1);

/// How the packs of one group are trained: GPUs for each pack, DP ranks, and micro-batches in an iteration.
struct GroupPlan {
  int gpus_per_pack = 1;           ///< GPUs of a DP rank
  int gc_layers = 0;               ///< number of checkpointed layers
  int n_dp_ranks = 1;              ///< n_gpus / gpus_per_pack
  int micro_batches_per_rank = 1;  ///< in one iteration
  std::int64_t packs_per_iteration() const {
    return static_cast<std::int64_t>(n_dp_ranks) * micro_batches_per_rank;
  }
};

/// Micro-batches of one rank in an iteration of `tokens_per_iteration` tokens over `n_dp_ranks` ranks: as
/// many full packs as fit, at least one. Throws std::invalid_argument if that is more than kMostMicroBatches.
int micro_batches_that_fit(std::int64_t tokens_per_iteration, int n_dp_ranks, std::int64_t capacity_tokens);

struct ScheduleOptions {
  int n_gpus = 1;
  /// Tokens of one iteration over all ranks. Each rank gets as many micro-batches as fit, at least one. 0:
  /// micro_batches_per_rank is used instead.
  std::int64_t tokens_per_iteration = 0;
  int micro_batches_per_rank = 1;
  PackOrder order = PackOrder::shuffled;
  LastIteration last_iteration = LastIteration::repeat;
  /// This many iterations at the start of the run are short: of several groups, they train the first
  /// (shortest) group only, as in HBP's curriculum; of one group, the packs with the least attention work.
  /// The rest of the epoch is shuffled.
  std::int64_t curriculum_iterations = 0;
  int epochs = 1;
  std::uint32_t seed = 1024;  ///< epoch e shuffles with seed + e
};

/// Which packs are trained when and where: what a trainer replays and the simulator prices.
struct Schedule {
  std::vector<GroupPlan> groups;
  /// The packs of an iteration are neighbours; Iteration says where they begin.
  std::vector<PlacedPack> placed;
  std::vector<Iteration> iterations;
  int n_gpus = 1;
  int epochs = 1;

  std::int64_t dropped_packs = 0;   ///< packs that LastIteration::drop leaves out, over all epochs
  std::int64_t repeated_packs = 0;  ///< packs that LastIteration::repeat trains twice, over all epochs
  std::int64_t dropped_tokens = 0;
  std::int64_t repeated_tokens = 0;
  std::int64_t curriculum_iterations = 0;

  std::span<const PlacedPack> packs(const Iteration& iteration) const {
    return {placed.data() + iteration.first_placed, iteration.n_placed};
  }
  /// Starts to load the row of the pack that is trained 16 packs after `pack`, an element of `placed`. Loops
  /// over `placed` call it: packs are trained in random order, so that without it they wait for each row in
  /// turn.
  ///
  /// rows: [n_groups][n_packs].
  // Always inline: g++ 12 removes calls of functions that do nothing but prefetch.
  template <typename Row>
  [[gnu::always_inline]] void load_ahead(const PlacedPack& pack,
                                         std::span<const std::vector<Row>> rows) const {
    const std::size_t i = static_cast<std::size_t>(&pack - placed.data());
    if (i + 32 >= placed.size()) return;
    __builtin_prefetch(&placed[i + 32]);
    __builtin_prefetch(&rows[placed[i + 16].group][placed[i + 16].pack]);
  }
  /// Number of GPUs that share a pack, if it is the same for all packs of the iteration, else none.
  std::optional<int> gpus_per_pack(const Iteration& iteration) const;
};

/// GPUs that share a pack of a group, and checkpointed layers.
struct GroupParallelism {
  int gpus_per_pack = 1;
  int gc_layers = 0;
};

/// Makes iterations of packs. All packs of an iteration are of one group. If a group has g GPUs for each
/// pack, its DP rank r is the GPUs r g to r g + g - 1. The packs of an iteration are dealt to the ranks in
/// turn; each turn is a round. Iterations that LastIteration::shorten leaves too small end their epoch.
///
/// batches: [n_groups][n_packs] of that group. parallelism: [n_groups]. capacities_tokens: [n_groups]. Throws
/// std::invalid_argument if n_gpus is not a multiple of a group's gpus_per_pack, or a count is out of range.
/// A curriculum needs as many whole iterations of the first group in an epoch, and any order but as_packed.
Schedule make_schedule(std::span<const std::vector<MicroBatch>> batches,
                       std::span<const std::int64_t> capacities_tokens,
                       std::span<const GroupParallelism> parallelism, const ScheduleOptions& options);

/// Repeats in every epoch the iterations that a strategy has formed. They are shuffled unless the order is
/// as_packed. Of the other options, only n_gpus, epochs, seed and curriculum_iterations are used; the
/// curriculum consists of the iterations with the least attention work. batches: [n_groups][n_packs] of that
/// group; only a curriculum reads them. Throws std::invalid_argument as above.
Schedule make_schedule(const PlannedIterations& planned, std::span<const std::vector<MicroBatch>> batches,
                       std::span<const GroupParallelism> parallelism, const ScheduleOptions& options);

/// HBP algorithm 7: the pack indices sorted by ascending attention work, padding included, with ties in pack
/// order. If the packs fill whole iterations, cutting this order into iterations minimises the sum over
/// iterations of the largest work.
std::vector<std::uint32_t> balanced_order(std::span<const MicroBatch> batches);

}  // namespace packsim
