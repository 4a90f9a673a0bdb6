#pragma once

#include <cstddef>
#include <cstdint>

namespace packsim {

// What the numbers of a plan file can be at most, beside the limits of packing/options/limits.hpp. A file
// says these numbers without having as many bytes, so a reader would otherwise count to any of them.

inline constexpr std::int64_t kMostPlanEpochs = 1 << 16;
inline constexpr std::size_t kMostPlanGroups = 1 << 16;  ///< PlanPlacedPack::group has 16 bits
inline constexpr std::uint32_t kMostPlanLayers = 1 << 16;
inline constexpr std::int64_t kMostPlanTiles = 1 << 16;
/// Where samples are cut, those that are left out are not in the file. It may say so many, and so many more
/// for each item.
inline constexpr std::int64_t kMostAbsentSamples = 1 << 20;
inline constexpr std::int64_t kMostAbsentSamplesPerItem = 64;
/// JSON values take some twenty times the memory of their text.
inline constexpr std::size_t kMostFacts_bytes = 1 << 20;

}  // namespace packsim
