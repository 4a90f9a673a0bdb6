#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <random>
#include <span>
#include <utility>

namespace packsim {

/// The generator behind every random choice: std::mt19937, whose words the C++ standard fixes.
using Generator = std::mt19937;

/// A uniform integer in [0, limit], drawn as numpy's legacy RandomState does: 32 random bits masked to the
/// next power of two, drawn again while over the limit.
inline std::uint32_t uniform_up_to(Generator& generator, std::uint32_t limit) {
  if (limit == 0) return 0;
  const std::uint32_t mask = ~std::uint32_t{0} >> std::countl_zero(limit);
  std::uint32_t drawn = static_cast<std::uint32_t>(generator()) & mask;
  while (drawn > limit) drawn = static_cast<std::uint32_t>(generator()) & mask;
  return drawn;
}

/// Shuffles in place exactly as numpy.random.RandomState(seed).shuffle(list) does. std::shuffle will not do:
/// its use of the generator differs between standard libraries.
template <typename T>
void shuffle(std::span<T> values, Generator& generator) {
  // Positions are drawn a block ahead of the swaps, so that the memory they touch is on its way to the cache.
  constexpr std::size_t kBlock = 32;
  std::array<std::uint32_t, kBlock> partner;
  std::size_t end = values.size();
  while (end > 1) {
    const std::size_t n = end - 1 < kBlock ? end - 1 : kBlock;
    for (std::size_t k = 0; k < n; ++k) {
      partner[k] = uniform_up_to(generator, static_cast<std::uint32_t>(end - 1 - k));
      __builtin_prefetch(values.data() + partner[k], 1);
    }
    for (std::size_t k = 0; k < n; ++k) std::swap(values[end - 1 - k], values[partner[k]]);
    end -= n;
  }
}

}  // namespace packsim
