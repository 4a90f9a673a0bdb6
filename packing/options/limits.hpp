#pragma once

#include <cstdint>

namespace packsim {

/// The longest pack, and the longest sample of one: indexes by free space have an entry for each token, and
/// 32 bits hold the sum of two lengths.
inline constexpr std::int64_t kLongestCapacityTokens = std::int64_t{1} << 24;

/// Sample and pack indices are 32 bits wide; a larger count is a typing error, not a data set.
inline constexpr std::int64_t kMostSamples = 1'000'000'000;

inline constexpr int kMostGpus = 1 << 20;

/// The limit counts all GPUs together. It leaves room for sums over a million iterations in 64 bits.
inline constexpr std::int64_t kMostTokensPerIteration = 1'000'000'000'000;

/// The most micro-batches of a rank in an iteration. No trainer accumulates gradients over more, and with
/// this limit counts of packs stay far below what their types can hold.
inline constexpr int kMostMicroBatches = 65536;

}  // namespace packsim
