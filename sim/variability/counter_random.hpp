#pragma once

#include <cstdint>
#include <initializer_list>

namespace packsim {

/// What a draw is for: the first key of every name, so that one seed serves all purposes.
enum class Draw : std::uint64_t { speed, noise, failure };

/// Random numbers by name instead of by turn: the word of (seed, draw, keys) is the same whoever asks, in
/// whatever order, and however often. Keys of different lengths or orders are different names.
///
/// Each key goes through the finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
/// generators, OOPSLA 2014), which is a bijection: names that differ in the last key alone never collide.
inline std::uint64_t random_word(std::uint64_t seed, Draw draw, std::initializer_list<std::uint64_t> keys) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;
  const auto mixed = [](std::uint64_t word) {
    word += kGolden;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9U;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebU;
    return word ^ (word >> 31);
  };
  std::uint64_t word = mixed(mixed(seed) ^ static_cast<std::uint64_t>(draw));
  for (const std::uint64_t key : keys) word = mixed(word ^ key);
  return word;
}

/// In (0, 1), never an end of it: the first 52 bits of the word, and half a step.
inline double open_uniform(std::uint64_t word) {
  return (static_cast<double>(word >> 12) + 0.5) * 0x1p-52;
}

}  // namespace packsim
