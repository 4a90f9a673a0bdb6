#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/batch_problem.hpp"
#include "packing/planner/compose_iteration.hpp"

namespace packsim {

/// What there is to do in rounds of packs of the first degree.
struct RoundWork {
  std::int64_t tokens = 0;
  double attention_gpu_s = 0;  ///< of all documents
  /// What each round takes at least, longest first: where a round has b packs, the item of rank b r alone.
  /// Empty: packs can be cut at will.
  std::vector<double> least_s = {};
};

/// The number of rounds at which packs of even lengths would take least.
int best_rounds(const DegreeCosts& costs, const RoundWork& work, int n_gpus, const RoundShape& shape);

/// As compose_iteration(), for GPUs that all meet in every round, so that every round takes as long as its
/// longest pack. In each round every GPU has at most one pack, and one in every round up to its last.
///
/// Items that need several GPUs open blocks in the round that they make longer by least, or share one; all
/// others go to the pack that is furthest below the longest of its round. The number of rounds that takes
/// least is chosen. time_s: the sum over rounds of the longest pack, and what the shape adds to it; infinite,
/// without packs, where a shape that wants packs on all GPUs has too few items.
ComposedIteration compose_rounds(const DegreeCosts& costs, std::span<const std::int32_t> lengths_tokens,
                                 std::span<const ItemIndex> items, int n_gpus, const RoundShape& shape = {});

}  // namespace packsim
