#pragma once

namespace packsim {

/// Lines of listings are no longer than this.
inline constexpr int kTableWidthColumns = 110;

}  // namespace packsim
