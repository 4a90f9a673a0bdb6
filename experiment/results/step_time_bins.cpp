#include "experiment/results/step_time_bins.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>

namespace packsim {

std::vector<StepTimeBin> bin_step_times(std::span<const double> step_s, std::size_t most_bins) {
  if (most_bins == 0) throw std::invalid_argument("bin_step_times: most_bins: expected at least 1, got 0");
  const std::size_t n_bins = std::min(step_s.size(), most_bins);
  std::vector<StepTimeBin> bins;
  bins.reserve(n_bins);
  for (std::size_t b = 0; b < n_bins; ++b) {
    const std::size_t first = b * step_s.size() / n_bins;
    const std::size_t end = (b + 1) * step_s.size() / n_bins;
    const auto members = step_s.subspan(first, end - first);
    const auto [min_s, max_s] = std::ranges::minmax(members);
    const double sum_s = std::accumulate(members.begin(), members.end(), 0.0);
    bins.push_back({.first_iteration = static_cast<std::int64_t>(first),
                    .last_iteration = static_cast<std::int64_t>(end - 1),
                    .min_s = min_s,
                    .mean_s = sum_s / static_cast<double>(members.size()),
                    .max_s = max_s});
  }
  return bins;
}

}  // namespace packsim
