#include "experiment/results/iteration_bins.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>

namespace packsim {

std::vector<IterationBin> bin_iterations(std::span<const double> values, std::size_t most_bins) {
  if (most_bins == 0) throw std::invalid_argument("bin_iterations: most_bins: expected at least 1, got 0");
  const std::size_t n_bins = std::min(values.size(), most_bins);
  std::vector<IterationBin> bins;
  bins.reserve(n_bins);
  for (std::size_t b = 0; b < n_bins; ++b) {
    const std::size_t first = b * values.size() / n_bins;
    const std::size_t end = (b + 1) * values.size() / n_bins;
    const auto members = values.subspan(first, end - first);
    const auto [least, most] = std::ranges::minmax(members);
    const double sum = std::accumulate(members.begin(), members.end(), 0.0);
    bins.push_back({.first_iteration = static_cast<std::int64_t>(first),
                    .last_iteration = static_cast<std::int64_t>(end - 1),
                    .least = least,
                    .mean = sum / static_cast<double>(members.size()),
                    .most = most});
  }
  return bins;
}

}  // namespace packsim
