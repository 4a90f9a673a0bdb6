#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/pack_set.hpp"

namespace packsim::flexsp {

/// How a global batch becomes micro-batches: sequences of about one length together, or in the order given.
enum class ChunkOrder { sorted, distribution };

/// FlexSP's blaster: cuts the items, longest first or as they come, into n_chunks consecutive runs (none
/// empty) whose largest number of tokens is least. Among equals the last run is as long as can be, then the
/// one before it, as in the published code. Items of one length keep their order.
///
/// lengths_tokens: of items, each >= 0. n_chunks: 1..n_items, otherwise std::invalid_argument.
/// Source: FlexSP (arXiv 2412.01523) appendix A. O(K M log K): the largest sum grows with the items before a
/// cut and shrinks with those behind it, so a binary search takes the place of the published inner loop.
std::vector<std::vector<ItemIndex>> chunks(std::span<const std::int32_t> lengths_tokens,
                                           std::span<const ItemIndex> items, std::size_t n_chunks,
                                           ChunkOrder order = ChunkOrder::sorted);

/// The fewest chunks that a cluster can hold by tokens: from ceil(tokens / capacity) on, until each has less
/// than the capacity, as published; at most one per item.
std::size_t fewest_chunks(std::span<const std::int32_t> lengths_tokens, std::span<const ItemIndex> items,
                          std::int64_t cluster_capacity_tokens, ChunkOrder order = ChunkOrder::sorted);

}  // namespace packsim::flexsp
