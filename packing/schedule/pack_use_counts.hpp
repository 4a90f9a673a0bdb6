#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/schedule/schedule.hpp"

namespace packsim {

/// How often a schedule trains each pack, and what follows from that for each group.
struct PackUseCounts {
  std::vector<std::vector<std::uint32_t>> of_pack;  ///< [n_groups][n_packs]
  std::vector<std::int64_t> iterations;             ///< [n_groups] in which packs of the group are trained
  /// Optimizer steps, of ranks of the group's SP degree: [n_groups]. An iteration counts for the group of its
  /// first pack.
  std::vector<double> rank_steps;
  /// Micro-batches that come after another one on their GPUs in their iteration: [n_groups]. One of several
  /// GPUs counts by the share of them that had one before.
  std::vector<double> later_micro_batches;
};

/// batches: [n_groups][n_packs] as given to make_schedule.
PackUseCounts count_pack_uses(std::span<const std::vector<MicroBatch>> batches, const Schedule& schedule);

}  // namespace packsim
