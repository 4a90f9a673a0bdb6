#pragma once

#include <limits>

namespace packsim {

/// The time of what cannot be done; for the files of this folder.
inline constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace packsim
