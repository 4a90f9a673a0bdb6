#pragma once

#include <cstddef>
#include <span>

#include "packing/schedule/schedule.hpp"

namespace packsim {

/// A schedule may come from a file that a trainer wrote. Throws std::invalid_argument at the first place
/// where it speaks of packs, groups or ranks that are not there.
///
/// n_packs: [n_groups].
void check_schedule(const Schedule& schedule, std::span<const std::size_t> n_packs);

}  // namespace packsim
