#include "calibration/microbench/core/stopping_rule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace packsim::microbench {
namespace {

constexpr int kFewestSamples = 3;
constexpr double kPatience = 4;

}  // namespace

double median(std::span<const double> values) {
  if (values.empty()) return 0;
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

double median_noise(std::span<const double> samples_s) {
  const double middle = median(samples_s);
  if (samples_s.size() < 3 || middle <= 0) return std::numeric_limits<double>::infinity();
  std::vector<double> sorted(samples_s.begin(), samples_s.end());
  std::ranges::sort(sorted);
  std::vector<double> deviations;
  for (const double sample_s : sorted) deviations.push_back(std::abs(sample_s - middle));
  const double root = std::sqrt(static_cast<double>(sorted.size()));
  // 1.4826 makes the MAD of normal noise its standard deviation; the median of n normal samples has
  // sqrt(pi / 2) = 1.2533 times the standard error of their mean.
  const double from_deviations = 1.2533 * 1.4826 * median(deviations) / root;
  // Samples that hop between two clocks may have a MAD of 0. A standard error of the median is also half the
  // distance between the samples at ranks sqrt(n) / 2 below and above the middle, whatever their
  // distribution.
  const double centre = static_cast<double>(sorted.size() - 1) / 2;
  const auto at_rank = [&](double rank) {
    const auto below = static_cast<std::size_t>(rank);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return std::lerp(sorted[below], sorted[above], rank - static_cast<double>(below));
  };
  const double from_ranks = (at_rank(centre + root / 2) - at_rank(centre - root / 2)) / 2;
  return std::max(from_deviations, from_ranks) / middle;
}

Verdict judge(const StoppingRule& rule, std::span<const double> samples_s, double elapsed_s) {
  const auto n = static_cast<int>(samples_s.size());
  if (n < rule.min_samples) {
    // Seconds a sample: the least samples alone would cost many times what a case may.
    const bool far_too_long = n >= kFewestSamples && elapsed_s >= kPatience * rule.longest_s;
    return far_too_long ? Verdict::noisy : Verdict::go_on;
  }
  if (median_noise(samples_s) <= rule.noise_fraction) return Verdict::quiet;
  return n >= rule.max_samples || elapsed_s >= rule.longest_s ? Verdict::noisy : Verdict::go_on;
}

bool is_warm(std::span<const double> warmup_s) {
  if (warmup_s.size() < 6) return false;
  const double last_s = median(warmup_s.last(3));
  const double before_s = median(warmup_s.subspan(warmup_s.size() - 6, 3));
  return std::abs(last_s - before_s) <= 0.01 * before_s;
}

}  // namespace packsim::microbench
