#pragma once

#include <cstdint>
#include <initializer_list>

namespace packsim {

/// The word that follows from a word and a key, by the finaliser of SplitMix64 (Steele, Lea, Flood: Fast
/// splittable pseudorandom number generators, OOPSLA 2014). It is a bijection: words that differ in the last
/// key alone never collide.
inline std::uint64_t next_word(std::uint64_t word, std::uint64_t key) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;
  word = (word ^ key) + kGolden;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9U;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebU;
  return word ^ (word >> 31);
}

/// Random numbers by name instead of by turn: the word of (seed, keys) is the same whoever asks, in whatever
/// order, and however often. Keys of different lengths or orders are different names. The first key says what
/// the draw is for, so that one seed serves all purposes.
inline std::uint64_t word_of_name(std::uint64_t seed, std::initializer_list<std::uint64_t> keys) {
  std::uint64_t word = next_word(seed, 0);
  for (const std::uint64_t key : keys) word = next_word(word, key);
  return word;
}

/// Returns a number in (0, 1), never an end of it: the first 52 bits of the word, and half a step.
inline double open_uniform(std::uint64_t word) {
  return (static_cast<double>(word >> 12) + 0.5) * 0x1p-52;
}

/// An integer in [0, n), from the first 32 bits of the word: floor(bits x n / 2^32). n: above 0. No value is
/// more likely than another by more than n / 2^32 of its share.
inline std::uint32_t below(std::uint64_t word, std::uint32_t n) {
  return static_cast<std::uint32_t>(((word >> 32) * n) >> 32);
}

}  // namespace packsim
