#pragma once

namespace packsim {

inline constexpr int kUserMistake = 2;
/// Such as a file that cannot be read.
inline constexpr int kMachineFailure = 3;

}  // namespace packsim
