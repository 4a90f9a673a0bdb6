#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/planner/degree_costs.hpp"

namespace packsim {

/// A pack of one iteration, on the GPUs [first_gpu, first_gpu + SP degree).
struct ComposedPack {
  std::size_t degree = 0;  ///< of DegreeCosts
  int first_gpu = 0;
  int round = 0;
  double time_s = 0;
  std::vector<ItemIndex> items;
};

/// One optimizer step whose packs follow each other on their GPUs without gaps.
struct ComposedIteration {
  std::vector<ComposedPack> packs;  ///< rounds ascending
  double time_s = 0;                ///< of the busiest GPU
  double gpu_s = 0;                 ///< of all GPUs, less waits
};

/// Places items on aligned blocks of GPUs so that the busiest GPU is done early: each item at the cheapest
/// degree at which it does not take longer than the iteration; longest first, to the block that is free
/// first; blocks of more GPUs before those of fewer, so that nobody waits in between. Items of a block are
/// cut into packs of the size at which tokens are cheapest; then items move between the busiest and other
/// GPUs while that helps.
///
/// lengths_tokens: of all items. items: of the iteration. n_gpus: a multiple of every degree.
ComposedIteration compose_iteration(const DegreeCosts& costs, std::span<const std::int32_t> lengths_tokens,
                                    std::span<const ItemIndex> items, int n_gpus);

}  // namespace packsim
