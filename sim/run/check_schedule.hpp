#pragma once

#include <cstddef>
#include <span>

#include "packing/schedule/schedule.hpp"

namespace packsim {

/// Checks a schedule, which may come from a file that another program wrote. Throws std::invalid_argument for
/// the first reference to a pack, group or GPU that does not exist.
///
/// n_packs: [n_groups], the number of packs of each group.
void check_schedule(const Schedule& schedule, std::span<const std::size_t> n_packs);

}  // namespace packsim
