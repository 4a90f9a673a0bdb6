#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/batch_problem.hpp"
#include "packing/planner/compose_iteration.hpp"

namespace packsim {

/// The work of an iteration, if all its packs have the smallest SP degree.
struct RoundWork {
  std::int64_t tokens = 0;
  double attention_gpu_s = 0;  ///< of all documents
  /// The least time of each round, longest first: with b packs in a round, round r takes at least as long as
  /// the item that is number b r when sorted by time, longest first. Empty: items can be divided at will.
  std::vector<double> least_s = {};
};

/// The number of rounds that takes the least time if all packs are equally long.
int best_rounds(const DegreeCosts& costs, const RoundWork& work, int n_gpus, const RoundShape& shape);

/// Composes an iteration as compose_iteration() does, for GPUs that all synchronise in every round, so that
/// every round takes as long as its longest pack. In each round a GPU has at most one pack, and it has one in
/// every round up to its last.
///
/// An item that needs several GPUs shares a block of its degree if that makes the round no longer. Otherwise
/// it opens a block in the longest round that has room for one, or joins the block with the least work. All
/// other items go to the pack that is furthest below the time that its round is to take. The number of rounds
/// with the least time is chosen. If no number of rounds works and shape.multiple is 1, the result is that of
/// compose_iteration().
///
/// time_s: the sum over rounds of the longest pack, and the time that the shape adds to it. It is infinite,
/// without packs, if the shape requires packs on all GPUs and there are too few items.
ComposedIteration compose_rounds(const DegreeCosts& costs, std::span<const std::int32_t> lengths_tokens,
                                 std::span<const ItemIndex> items, int n_gpus, const RoundShape& shape = {});

}  // namespace packsim
