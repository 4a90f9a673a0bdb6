#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/planner/degree_costs.hpp"

namespace packsim {

/// A pack of one iteration, on the GPUs [first_gpu, first_gpu + SP degree).
struct ComposedPack {
  std::size_t degree = 0;  ///< index of the SP degree in DegreeCosts
  int first_gpu = 0;
  int round = 0;
  double time_s = 0;
  std::vector<ItemIndex> items;
};

/// One optimizer step whose packs follow each other on their GPUs without gaps.
struct ComposedIteration {
  std::vector<ComposedPack> packs;  ///< in ascending order of round
  double time_s = 0;                ///< of the busiest GPU
  double gpu_s = 0;                 ///< GPU-seconds of all packs, without waiting
};

/// Places the items of an iteration on aligned blocks of GPUs so that the busiest GPU finishes early.
///
/// Each item gets the cheapest degree at which it does not take longer than the iteration. Blocks of more
/// GPUs are filled before those of fewer, so that no GPU waits between its packs; items of one degree are
/// placed longest first, each on the block that is free first. The items of a block are divided into packs of
/// the length at which a token costs least. Then items move between the busiest GPU and others as long as
/// that helps.
ComposedIteration compose_iteration(const DegreeCosts& costs, std::span<const std::int32_t> lengths_tokens,
                                    std::span<const ItemIndex> items, int n_gpus);

}  // namespace packsim
