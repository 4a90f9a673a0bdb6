#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/step/step_price.hpp"

namespace packsim {

/// A number for each pack: equal ones for packs that cost the same in every way. packs: of one pricer; those
/// that are never trained have no price, and a number of no meaning.
std::vector<std::uint32_t> price_classes(std::span<const MicroBatchPrice> packs);

/// Blocks of ranks that do the same in a step where nothing contends: what one does all do at the same time,
/// so that one can stand for all.
struct AlikeRanks {
  struct Kind {
    std::size_t first_block = 0;  ///< stands for the others
    std::size_t n_blocks = 0;
  };
  std::vector<Kind> kinds;         ///< by first_block
  std::vector<std::size_t> order;  ///< scratch
};

/// Rank r trains packs[m * n_ranks + r] for every m. classes: of a group's packs. block: ranks that lie side
/// by side and are looked at as one; divides n_ranks. Written over `alike`, whose memory is used again.
void find_alike(std::span<const std::uint32_t> packs, std::span<const std::uint32_t> classes,
                std::size_t n_ranks, std::size_t block, AlikeRanks& alike);

}  // namespace packsim
