#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "packing/pack_set.hpp"

namespace packsim {

/// How many values the parts of a partition have.
enum class PartSizes { any, equal };

/// Partitions values into `n_parts` parts with sums close to each other, by largest differencing: of all
/// partial partitions, the two with the largest spread are merged, largest part to smallest (Karmarkar and
/// Karp, UCB/CSD 82/113). Ties are decided as in verl's seqlen_balancing.py: larger sum, then more values,
/// then larger indices first.
///
/// With PartSizes::equal all parts have as many values as any other, or one less: it begins with parts of one
/// value each, the smallest n_values % n_parts values together and then n_parts at a time. verl's equal_size
/// is the same where the number of values is a multiple of the parts, as verl demands.
///
/// values: [n_values], each >= 0. n_parts: at least 1. Returns [n_parts] indices of values, ascending within
/// a part; parts by descending sum. Some are empty where there are fewer values than parts. Takes
/// O(n_values (n_parts + log n_values)).
std::vector<std::vector<std::uint32_t>> karmarkar_karp(std::span<const std::int64_t> values,
                                                       std::size_t n_parts, PartSizes sizes = PartSizes::any);

/// The same of items by what each weighs: the items of each part, in the order in which they came.
std::vector<std::vector<ItemIndex>> balanced_parts(std::span<const ItemIndex> items, std::size_t n_parts,
                                                   PartSizes sizes,
                                                   const std::function<std::int64_t(ItemIndex)>& work_of);

}  // namespace packsim
