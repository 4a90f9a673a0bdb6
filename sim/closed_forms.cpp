#include "sim/closed_forms.hpp"

#include <algorithm>
#include <numeric>

namespace packsim {
namespace {

SimTime sum(std::span<const SimTime> times) {
  return std::accumulate(times.begin(), times.end(), SimTime{});
}

SimTime work(std::span<const std::vector<SimTime>> ranks) {
  SimTime all;
  for (const auto& rank : ranks) all += sum(rank);
  return all;
}

SimTime sum_of_waves(std::span<const std::vector<SimTime>> ranks) {
  std::vector<SimTime> waves;
  for (const auto& rank : ranks) {
    waves.resize(std::max(waves.size(), rank.size()));
    for (std::size_t m = 0; m < rank.size(); ++m) waves[m] = std::max(waves[m], rank[m]);
  }
  return sum(waves);
}

}  // namespace

SimTime step_time(std::span<const std::vector<SimTime>> ranks, Barrier barrier) {
  if (barrier == Barrier::micro_batch) return sum_of_waves(ranks);
  SimTime longest;
  for (const auto& rank : ranks) longest = std::max(longest, sum(rank));
  return longest;
}

SimTime step_lower_bound(std::span<const std::vector<SimTime>> ranks) {
  if (ranks.empty()) return {};
  const auto n_ranks = static_cast<std::int64_t>(ranks.size());
  SimTime bound{(work(ranks).ns + n_ranks - 1) / n_ranks};
  for (const auto& rank : ranks) {
    for (const SimTime micro_batch : rank) bound = std::max(bound, micro_batch);
  }
  return bound;
}

SimTime run_time(std::span<const SimTime> steps, SimTime iteration_cost) {
  SimTime time;
  for (const SimTime step : steps) time += step + iteration_cost;
  return time;
}

double idle_fraction(std::span<const std::vector<SimTime>> ranks, Barrier barrier) {
  const auto ranks_ns = static_cast<double>(step_time(ranks, barrier).ns) * static_cast<double>(ranks.size());
  return ranks_ns > 0 ? 1.0 - static_cast<double>(work(ranks).ns) / ranks_ns : 0.0;
}

}  // namespace packsim
