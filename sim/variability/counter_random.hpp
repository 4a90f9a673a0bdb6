#pragma once

#include <cstdint>
#include <initializer_list>

#include "packing/algorithms/counter_random.hpp"

namespace packsim {

/// What a draw of the simulator is for. Draws of mixtures have other numbers (packing/mixing/).
enum class Draw : std::uint64_t { speed, noise, failure };

/// word_of_name() of the seed, the draw and the keys.
inline std::uint64_t random_word(std::uint64_t seed, Draw draw, std::initializer_list<std::uint64_t> keys) {
  std::uint64_t word = word_of_name(seed, {static_cast<std::uint64_t>(draw)});
  for (const std::uint64_t key : keys) word = next_word(word, key);
  return word;
}

}  // namespace packsim
