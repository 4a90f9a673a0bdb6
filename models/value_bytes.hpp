#pragma once

#include <cstdint>

namespace packsim {

/// Bytes of one value: of weights, activations and what is sent; of optimizer states and losses.
inline constexpr std::int64_t kBf16Bytes = 2;
inline constexpr std::int64_t kFp32Bytes = 4;

}  // namespace packsim
