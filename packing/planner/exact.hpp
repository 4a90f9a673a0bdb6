#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/planner/compose_iteration.hpp"

namespace packsim {

/// The most items that are planned exactly.
inline constexpr std::size_t kMostExactItems = 8;

/// The iterations that take the least time in total, of all ways to divide the items into iterations, packs,
/// SP degrees and blocks of GPUs. An iteration has at most tokens_per_iteration tokens (a longer item is
/// alone) and takes step_s more than its packs.
///
/// Blocks of GPUs lie inside each other and larger ones go first, so no GPU ever waits for a block. No other
/// order of the same packs ends before the GPU with the most work does, so none is faster. The method is
/// dynamic programming over subsets, O(4^n) for n items. Throws std::invalid_argument for more than
/// kMostExactItems.
std::vector<ComposedIteration> best_iterations(const DegreeCosts& costs,
                                               std::span<const std::int32_t> lengths_tokens,
                                               std::span<const ItemIndex> items, int n_gpus,
                                               std::int64_t tokens_per_iteration, double step_s);

}  // namespace packsim
