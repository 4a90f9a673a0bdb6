#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/pack_set.hpp"

namespace packsim::flexsp {

/// How a global batch becomes micro-batches: sequences of about one length together, or in the order given.
enum class ChunkOrder { sorted, distribution };

/// FlexSP's blaster: cuts items, longest first or as they come, into consecutive runs. Items of one length
/// keep their order.
///
/// Source: FlexSP (arXiv 2412.01523) appendix A. The first M chunks of all K items take O(K M): with more
/// items, the best place for the last cut only moves on, so there is no need for the published inner loop.
class Chunker {
 public:
  /// lengths_tokens: of items, each >= 0.
  Chunker(std::span<const std::int32_t> lengths_tokens, std::span<const ItemIndex> items,
          ChunkOrder order = ChunkOrder::sorted);

  /// n_chunks runs, none empty, whose largest number of tokens is least. Among equals the last run is as long
  /// as can be, then the one before it, as in the published code. Throws std::invalid_argument unless
  /// n_chunks is 1..n_items.
  std::vector<std::vector<ItemIndex>> chunks(std::size_t n_chunks);
  /// The fewest chunks that a cluster can hold by tokens: from ceil(tokens / capacity) on, until each has
  /// less than the capacity, as published; at most one per item.
  std::size_t fewest_chunks(std::int64_t cluster_capacity_tokens);

 private:
  std::int64_t tokens(std::size_t begin, std::size_t end) const { return sums_[end] - sums_[begin]; }
  void add_row();
  std::vector<std::size_t> ends(std::size_t n_chunks);

  std::vector<ItemIndex> ordered_;
  std::vector<std::int64_t> sums_;  // [n_items + 1], tokens before each item
  // [n_rows][n_items + 1]: row k has the least possible tokens of the largest of k + 1 chunks of the first
  // items. Rows are added when they are needed.
  std::vector<std::vector<std::int64_t>> largest_;
};

}  // namespace packsim::flexsp
