#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/schedule.hpp"

namespace packsim {

/// How often a schedule trains what.
struct Trainings {
  std::vector<std::vector<std::int64_t>> of_pack;  ///< [n_groups][n_packs]
  std::vector<std::int64_t> iterations;            ///< [n_groups]
  /// Micro-batches that come after another one of their rank in their iteration: [n_groups].
  std::vector<std::int64_t> later_micro_batches;
};

/// batches: [n_groups][n_packs] as given to make_schedule.
Trainings count_trainings(std::span<const std::vector<MicroBatch>> batches, const Schedule& schedule);

}  // namespace packsim
