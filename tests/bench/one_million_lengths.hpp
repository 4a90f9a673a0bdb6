#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "scenarios/loader/lengths/read_lengths.hpp"
#include "tests/paths.hpp"

namespace packsim {

using Lengths = std::vector<std::int32_t>;

inline Lengths shipped_lengths(const std::string& name) {
  return read_lengths(packsim_test::source_dir() + "/scenarios/lengths/" + name);
}

/// The fitted stand-ins for the HBP paper's data: all short samples, the 2000 long ones, and short ones drawn
/// once more to make a million, in a mixed order.
inline const Lengths& one_million_lengths() {
  static const Lengths kLengths = [] {
    constexpr std::size_t kSamples = 1'000'000;
    Lengths lengths = shipped_lengths("tulu3_like_939344.npy");
    const std::size_t n_short = lengths.size();
    const Lengths long_tail = shipped_lengths("longcite_like_2k.csv");
    lengths.insert(lengths.end(), long_tail.begin(), long_tail.end());
    std::mt19937 generator(1024);
    while (lengths.size() < kSamples) lengths.push_back(lengths[generator() % n_short]);
    for (std::size_t i = kSamples; i-- > 1;) std::swap(lengths[i], lengths[generator() % (i + 1)]);
    return lengths;
  }();
  return kLengths;
}

}  // namespace packsim
