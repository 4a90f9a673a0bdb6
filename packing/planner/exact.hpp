#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/planner/compose_iteration.hpp"

namespace packsim {

/// So few items are planned exactly.
inline constexpr std::size_t kMostExactItems = 8;

/// The iterations that take least together, each at most tokens_per_iteration tokens (an item that is longer
/// is alone) and step_s more than its packs: of all ways to cut the items into iterations, packs, SP degrees
/// and blocks of GPUs.
///
/// Blocks of GPUs lie inside each other and larger ones go first, so no GPU ever waits for a block; any other
/// order of the same packs ends no sooner than the GPU with most to do. By dynamic programming over subsets:
/// O(4^n) for n items. Throws std::invalid_argument for more than kMostExactItems.
std::vector<ComposedIteration> best_iterations(const DegreeCosts& costs,
                                               std::span<const std::int32_t> lengths_tokens,
                                               std::span<const ItemIndex> items, int n_gpus,
                                               std::int64_t tokens_per_iteration, double step_s);

}  // namespace packsim
