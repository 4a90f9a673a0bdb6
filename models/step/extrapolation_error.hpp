#pragma once

namespace packsim {

/// Relative error, one standard deviation, of a price for which there is no measurement.
inline constexpr double kExtrapolationError = 0.3;

}  // namespace packsim
