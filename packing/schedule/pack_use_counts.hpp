#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/schedule/schedule.hpp"

namespace packsim {

/// How often a schedule trains each pack, and what follows from that for each group.
struct PackUseCounts {
  std::vector<std::vector<std::uint32_t>> of_pack;  ///< [n_groups][n_packs]
  std::vector<std::int64_t> iterations;             ///< [n_groups] iterations that train packs of the group
  /// [n_groups] number of DP ranks (n_gpus / gpus_per_pack), summed over iterations. An iteration counts for
  /// the group of its first pack.
  std::vector<double> rank_steps;
  /// [n_groups] micro-batches that are not the first on their GPUs in their iteration. A micro-batch on
  /// several GPUs counts by the share of these GPUs that had an earlier one.
  std::vector<double> later_micro_batches;
};

/// batches: [n_groups][n_packs] as given to make_schedule.
PackUseCounts count_pack_uses(std::span<const std::vector<MicroBatch>> batches, const Schedule& schedule);

}  // namespace packsim
