#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>

#include "packing/algorithms/mersenne_twister.hpp"

namespace packsim {

/// The generator behind every random choice. Its words are those of std::mt19937, which the C++ standard
/// fixes.
using Generator = MersenneTwister;

/// A uniform integer in [0, limit], drawn as numpy's legacy RandomState does: 32 random bits masked to the
/// next power of two, drawn again while over the limit.
inline std::uint32_t uniform_up_to(Generator& generator, std::uint32_t limit) {
  if (limit == 0) return 0;
  const std::uint32_t mask = ~std::uint32_t{0} >> std::countl_zero(limit);
  std::uint32_t drawn = generator() & mask;
  while (drawn > limit) drawn = generator() & mask;
  return drawn;
}

/// Shuffles in place exactly as numpy.random.RandomState(seed).shuffle(list) does. std::shuffle will not do:
/// its use of the generator differs between standard libraries.
template <typename T>
void shuffle(std::span<T> values, Generator& generator) {
  // Positions are drawn a block ahead of the swaps, so that the memory they touch is on its way to the cache.
  // A block draws as uniform_up_to does, with one mask and without a branch that would be mispredicted: a
  // draw over the limit is overwritten by the next one.
  constexpr std::size_t kBlock = 64;
  std::array<std::uint32_t, kBlock> partner;
  std::size_t end = values.size();
  while (end > 1) {
    const auto limit = static_cast<std::uint32_t>(end - 1);
    const std::size_t n = std::min<std::size_t>(kBlock, end - std::bit_floor(limit));
    const std::uint32_t mask = ~std::uint32_t{0} >> std::countl_zero(limit);
    for (std::uint32_t k = 0; k < n;) {
      partner[k] = generator() & mask;
      k += partner[k] <= limit - k ? 1 : 0;
    }
    for (std::size_t k = 0; k < n; ++k) __builtin_prefetch(values.data() + partner[k], 1);
    for (std::size_t k = 0; k < n; ++k) std::swap(values[end - 1 - k], values[partner[k]]);
    end -= n;
  }
}

}  // namespace packsim
