#pragma once

namespace packsim {

/// How wrong a guess may be: one standard deviation, relative to it.
inline constexpr double kGuessError = 0.3;

}  // namespace packsim
