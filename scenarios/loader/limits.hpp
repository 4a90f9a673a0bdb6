#pragma once

#include <cstdint>

namespace packsim {

/// The longest sample and the longest pack: what 32-bit sums of two lengths and pack() are made for.
inline constexpr std::int64_t kMostTokens = std::int64_t{1} << 24;
/// Sample and pack indices are 32 bits wide; a count over this is a typing error, not a data set.
inline constexpr std::int64_t kMostSamples = 1'000'000'000;
inline constexpr int kMostGpus = 1 << 20;

}  // namespace packsim
