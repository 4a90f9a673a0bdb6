#pragma once

#include "packing/options/option.hpp"

namespace packsim {

/// The largest value times the tokens of an iteration still fits in 64 bits.
inline constexpr OptionalIntegerOption kWindowIterations = optional_integer_option(
    "window_iterations", {.default_value = 0, .least = 0, .most = 1'000'000},
    "Samples stay within this many iterations of their place in the shuffle; 0: no limit.");

}  // namespace packsim
