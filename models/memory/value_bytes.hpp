#pragma once

#include "models/value_bytes.hpp"

namespace packsim {

// The files of this folder multiply sizes in double by these.
inline constexpr double kBf16 = kBf16Bytes;
inline constexpr double kFp32 = kFp32Bytes;

}  // namespace packsim
