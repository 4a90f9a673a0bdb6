#pragma once

#include <cstdint>

namespace packsim {

// Wide enough for every published model, narrow enough that bytes of what 2^24 tokens have in a layer, and
// counts of parameters, stay in 64 bits.
inline constexpr int kWidest = 1 << 24;  // also of all heads together
inline constexpr int kMostExperts = 1 << 16;
inline constexpr std::int64_t kWidestOfExperts = std::int64_t{1} << 32;  // of a token's experts together
inline constexpr double kMostParameters = 1e15;

}  // namespace packsim
