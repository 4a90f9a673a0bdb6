#pragma once

#include "packing/options/limits.hpp"

namespace packsim {

/// The longest sample and the longest pack.
inline constexpr std::int64_t kMostTokens = kLongestCapacityTokens;

}  // namespace packsim
