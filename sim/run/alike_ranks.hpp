#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/step/step_price.hpp"

namespace packsim {

/// [n_prices] numbers that are equal for prices that are equal in every member. prices: all from one pricer.
/// Prices of packs that are never trained have no TokenPrices, and their numbers have no meaning.
std::vector<std::uint32_t> price_classes(std::span<const MicroBatchPrice> prices);

/// Groups of equal blocks of ranks, in a step in which no transfers share links. Equal blocks do the same at
/// the same time, so only one of them is simulated.
struct AlikeRanks {
  struct Kind {
    std::size_t first_block = 0;  ///< the block that is simulated
    std::size_t n_blocks = 0;
  };
  std::vector<Kind> kinds;         ///< by first_block
  std::vector<std::size_t> order;  ///< scratch memory of find_alike()
};

/// The work of every rank in one step as a list of numbers. Ranks with equal lists do the same work.
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

/// Finds equal blocks of ranks and overwrites `alike`, whose memory is reused. block: number of neighbouring
/// ranks that form a block; it divides the number of ranks.
void find_alike(const RankKinds& ranks, std::size_t block, AlikeRanks& alike);

}  // namespace packsim
