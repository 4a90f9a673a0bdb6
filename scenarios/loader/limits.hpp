#pragma once

#include "packing/options/limits.hpp"

namespace packsim {

/// The longest sample and the longest pack.
inline constexpr std::int64_t kMostTokens = kLongestCapacityTokens;

/// The most samples of a length file, and of a scenario's mix: 400 MB of lengths. The core packs more
/// (kMostSamples); for a simulation, draw from them.
inline constexpr std::int64_t kMostDrawnSamples = 100'000'000;

/// The most objects in an array of a file: sources of a mix, strategies, groups.
inline constexpr std::size_t kMostObjects = 65'536;

/// The most groups of a subset of a mixture.
inline constexpr int kMostMixtureGroups = 1024;

inline constexpr int kMostGpusPerNode = 1024;
inline constexpr int kMostNodes = 65'536;

}  // namespace packsim
