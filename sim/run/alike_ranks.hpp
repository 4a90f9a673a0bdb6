#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/step/step_price.hpp"

namespace packsim {

/// A number for each price, which is equal for prices that are the same in every way. prices: all by one pricer;
/// those of packs that are never trained have no tokens, and their number means nothing.
std::vector<std::uint32_t> price_classes(std::span<const MicroBatchPrice> prices);

/// Blocks of ranks that do the same in a step where nothing contends. All of them do it at the same time, so
/// one stands for the others.
struct AlikeRanks {
  struct Kind {
    std::size_t first_block = 0;  ///< The one that is simulated.
    std::size_t n_blocks = 0;
  };
  std::vector<Kind> kinds;         ///< by first_block
  std::vector<std::size_t> order;  ///< scratch
};

/// What the ranks of one step train, as numbers that are equal where it is the same: [n_ranks] lists.
struct RankKinds {
  std::vector<std::uint32_t> offsets = {0};  ///< [n_ranks + 1]
  std::vector<std::uint64_t> kinds;          ///< rank r's are kinds[offsets[r]..offsets[r + 1])

  void clear() {
    offsets.assign(1, 0);
    kinds.clear();
  }
  void end_rank() { offsets.push_back(static_cast<std::uint32_t>(kinds.size())); }
  std::size_t n_ranks() const { return offsets.size() - 1; }
  std::span<const std::uint64_t> of(std::size_t rank) const {
    return std::span(kinds).subspan(offsets[rank], offsets[rank + 1] - offsets[rank]);
  }
};

/// block: ranks that lie side by side and are looked at as one; divides the number of ranks. Written over
/// `alike`, whose memory is used again.
void find_alike(const RankKinds& ranks, std::size_t block, AlikeRanks& alike);

}  // namespace packsim
