#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "sim/barrier.hpp"
#include "sim/programs.hpp"

namespace packsim {

using Ranks = std::vector<std::vector<SimTime>>;  // [n_ranks][micro-batches of that rank]

inline int draw(std::mt19937& generator, int first, int last) {
  return first + static_cast<int>(generator() % static_cast<std::uint32_t>(last - first + 1));
}

// 1..32 ranks with 0..8 micro-batches each. Durations are drawn from few values in every other case, so that
// ties happen, and may be 0.
inline Ranks random_ranks(std::mt19937& generator) {
  Ranks ranks(static_cast<std::size_t>(draw(generator, 1, 32)));
  const int longest_ns = draw(generator, 0, 1) == 0 ? 3 : 1'000'000;
  for (auto& rank : ranks) {
    rank.resize(static_cast<std::size_t>(draw(generator, 0, 8)));
    for (SimTime& duration : rank) duration = {draw(generator, 0, longest_ns)};
  }
  return ranks;
}

// Every rank waits at every barrier, whether it has a micro-batch before it or not.
inline Programs programs(const Ranks& ranks, Barrier barrier) {
  std::size_t n_waves = 0;
  for (const auto& rank : ranks) n_waves = std::max(n_waves, rank.size());
  Programs made;
  const std::size_t n_barriers = barrier == Barrier::micro_batch ? n_waves : 1;
  for (std::size_t i = 0; i < n_barriers; ++i) made.add_barrier(static_cast<std::uint32_t>(ranks.size()));
  for (const auto& rank : ranks) {
    made.add_rank();
    for (std::size_t m = 0; m < n_waves; ++m) {
      if (m < rank.size()) made.run(rank[m]);
      if (barrier == Barrier::micro_batch) made.wait(static_cast<std::uint32_t>(m));
    }
    if (barrier == Barrier::iteration) made.wait(0);
  }
  return made;
}

}  // namespace packsim
