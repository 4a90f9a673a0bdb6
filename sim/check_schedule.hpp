#pragma once

#include <span>
#include <vector>

#include "packing/schedule.hpp"

namespace packsim {

/// A schedule may come from a file that a trainer wrote. Throws std::invalid_argument at the first place
/// where it speaks of packs, groups or ranks that are not there.
///
/// batches: [n_groups][n_packs].
void check_schedule(const Schedule& schedule, std::span<const std::vector<MicroBatch>> batches);

}  // namespace packsim
