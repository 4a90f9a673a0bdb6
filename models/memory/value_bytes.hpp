#pragma once

#include "models/value_bytes.hpp"

namespace packsim {

// As factors of sizes in double; for the files of this folder.
inline constexpr double kBf16 = kBf16Bytes;
inline constexpr double kFp32 = kFp32Bytes;

}  // namespace packsim
