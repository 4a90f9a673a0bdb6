#include "experiment/results/step_distribution.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>

namespace packsim {
namespace {

SlowStep slow_step(const Schedule& schedule, std::span<const std::vector<MicroBatch>> batches,
                   std::size_t index, double step_s, double abr) {
  const Iteration& iteration = schedule.iterations[index];
  SlowStep slow{.iteration = static_cast<std::int64_t>(index), .step_s = step_s, .abr = abr};
  slow.gpus_per_pack = schedule.gpus_per_pack(iteration);
  for (const PlacedPack& placed : schedule.packs(iteration)) {
    const MicroBatch& batch = batches[placed.group][placed.pack];
    slow.tokens += batch.tokens;
    slow.longest_tokens = std::max<std::int64_t>(slow.longest_tokens, batch.longest_tokens);
  }
  return slow;
}

}  // namespace

std::vector<double> step_quantiles(std::span<const double> step_s, std::size_t n_quantiles) {
  if (n_quantiles == 0)
    throw std::invalid_argument("step_quantiles: n_quantiles: expected at least 1, got 0");
  std::vector<double> sorted(step_s.begin(), step_s.end());
  std::ranges::sort(sorted);
  const std::size_t n = std::min(sorted.size(), n_quantiles);
  std::vector<double> quantiles(n);
  for (std::size_t k = 0; k < n; ++k) quantiles[k] = sorted[((k + 1) * sorted.size() + n - 1) / n - 1];
  return quantiles;
}

std::size_t median_step(std::span<const double> step_s) {
  std::vector<std::size_t> order(step_s.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return step_s[i]; });
  return order[(order.size() - 1) / 2];
}

std::size_t slowest_step(std::span<const double> step_s) {
  return static_cast<std::size_t>(std::ranges::max_element(step_s) - step_s.begin());
}

std::vector<SlowStep> slowest_steps(const Schedule& schedule,
                                    std::span<const std::vector<MicroBatch>> batches,
                                    std::span<const double> step_s, std::span<const double> abr,
                                    std::size_t n) {
  std::vector<std::size_t> order(step_s.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  n = std::min(n, order.size());
  std::ranges::partial_sort(
      order, order.begin() + static_cast<std::ptrdiff_t>(n),
      [&](std::size_t a, std::size_t b) { return step_s[a] != step_s[b] ? step_s[a] > step_s[b] : a < b; });
  std::vector<SlowStep> slowest;
  for (std::size_t k = 0; k < n; ++k)
    slowest.push_back(slow_step(schedule, batches, order[k], step_s[order[k]], abr[order[k]]));
  return slowest;
}

}  // namespace packsim
