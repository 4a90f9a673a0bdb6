#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace packsim {

/// What a draw of a mixture is for: the first key of its name (packing/algorithms/counter_random.hpp). Draws
/// of the simulator have smaller numbers.
enum class DrawPurpose : std::uint64_t { subset = 16, group, sample, pass, actor, probe, pool };
constexpr std::uint64_t draw_purpose(DrawPurpose purpose) {
  return static_cast<std::uint64_t>(purpose);
}

/// The index at which the sum of the probabilities exceeds u, which is in (0, 1). Never one of probability 0:
/// where rounding keeps the sum at or below u, the last one above 0.
inline std::size_t drawn_index(const std::vector<double>& probabilities, double u) {
  double sum = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    if (!(probabilities[i] > 0)) continue;
    sum += probabilities[i];
    last = i;
    if (u < sum) return i;
  }
  return last;
}

}  // namespace packsim
