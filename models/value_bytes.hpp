#pragma once

#include <cstdint>

namespace packsim {

/// Size of one weight, activation or sent value.
inline constexpr std::int64_t kBf16Bytes = 2;
/// Size of one value of the optimizer states and of losses.
inline constexpr std::int64_t kFp32Bytes = 4;

}  // namespace packsim
