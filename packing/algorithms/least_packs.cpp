#include "packing/algorithms/least_packs.hpp"

#include <algorithm>

namespace packsim {

std::size_t least_packs(std::span<const std::int64_t> lengths_tokens, std::int64_t capacity_tokens) {
  // Lengths up to 1/33 of a capacity leave at most as much of a pack free.
  constexpr std::int64_t kMostShares = 32;
  std::int64_t least = 0;
  for (std::int64_t k = 1; k <= kMostShares; ++k) {
    std::int64_t shares = 0;
    for (const std::int64_t length : lengths_tokens) {
      const std::int64_t held = std::min(length, capacity_tokens);
      if (held > 0) shares += (held * (k + 1) - 1) / capacity_tokens;
    }
    least = std::max(least, (shares + k - 1) / k);
  }
  return static_cast<std::size_t>(least);
}

}  // namespace packsim
