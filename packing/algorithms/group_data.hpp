#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/strategy.hpp"

namespace packsim {

/// HBP algorithm 5, GroupData: item x belongs to group i when capacity(i-1) < length(x) <= capacity(i), with
/// capacity(-1) = 0. The published form loses empty items and those over the last capacity; here they go to
/// the first and the last group where the problem keeps them, and are skipped (and counted) where it does
/// not.
///
/// capacities_tokens: [n_groups], ascending. Returns [n_groups] item indices in data set order.
std::vector<std::vector<ItemIndex>> group_data(const PackProblem& problem,
                                               std::span<const std::int64_t> capacities_tokens);

/// HBP algorithm 6, GreedyFill: for every pack in turn, every item of the smaller groups that still fits, the
/// next smaller group first, in data set order. Moves them from `smaller` into the packs.
///
/// lengths_tokens: [n_items]. smaller: groups in descending order of length, the nearest first.
void greedy_fill(std::span<const std::int32_t> lengths_tokens, std::int64_t capacity_tokens, PackSet& packs,
                 std::span<std::vector<ItemIndex>*> smaller);

}  // namespace packsim
