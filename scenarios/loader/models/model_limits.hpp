#pragma once

namespace packsim {

// Wide enough for every published model, narrow enough that no product of two sizes leaves 64 bits.
inline constexpr int kMostLayers = 4096;
inline constexpr int kWidest = 1 << 24;
inline constexpr int kMostExperts = 1 << 16;

}  // namespace packsim
