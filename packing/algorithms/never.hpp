#pragma once

#include <limits>

namespace packsim {

/// The time of a choice that is not possible.
inline constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace packsim
