#include "calibration/microbench/core/stopping_rule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace packsim::microbench {
namespace {

constexpr int kFewestSamples = 3;
constexpr double kPatience = 4;
// The GPU idles while the noise is worked out, and must not cool: with many samples only every eighth asks.
constexpr int kManySamples = 64;
constexpr int kAskEvery = 8;

// Half of how far the samples moved from their first third to their last.
double half_drift_s(std::span<const double> samples_s) {
  const std::size_t third = samples_s.size() / 3;
  return std::abs(median(samples_s.last(third)) - median(samples_s.first(third))) / 2;
}

}  // namespace

double median(std::span<const double> values) {
  if (values.empty()) return 0;
  std::vector<double> parted(values.begin(), values.end());
  const auto middle = parted.begin() + static_cast<std::ptrdiff_t>(parted.size() / 2);
  std::ranges::nth_element(parted, middle);
  return parted.size() % 2 == 1 ? *middle : (*std::max_element(parted.begin(), middle) + *middle) / 2;
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
  const double by_chance = std::max(from_deviations, from_ranks);
  // The medians of two thirds of quiet samples also differ, halved by 1.2 times the error of the median.
  return std::max(by_chance, half_drift_s(samples_s) - by_chance) / middle;
}

Verdict judge(const StoppingRule& rule, std::span<const double> samples_s, double elapsed_s) {
  const auto n = static_cast<int>(samples_s.size());
  const bool is_over = elapsed_s >= rule.longest_s;
  const bool is_long_enough = elapsed_s >= rule.shortest_s;
  if (!is_long_enough && !is_over) return Verdict::go_on;
  const bool is_long_call = n >= rule.min_long_samples && median(samples_s) >= rule.long_call_s;
  if (n < rule.min_samples && !is_long_call) {
    // Seconds a sample: the least samples alone would cost many times what a case may.
    const bool far_too_long = n >= kFewestSamples && elapsed_s >= kPatience * rule.longest_s;
    return far_too_long ? Verdict::noisy : Verdict::go_on;
  }
  const bool is_last = n >= rule.max_samples || is_over;
  if (n > kManySamples && n % kAskEvery != 0 && !is_last) return Verdict::go_on;
  if (is_long_enough && median_noise(samples_s) <= rule.noise_fraction) return Verdict::quiet;
  return is_last ? Verdict::noisy : Verdict::go_on;
}

bool is_warm(std::span<const double> warmup_s) {
  const std::size_t n = std::max<std::size_t>(3, warmup_s.size() / 4);
  if (warmup_s.size() < 2 * n) return false;
  const double last_s = median(warmup_s.last(n));
  const double before_s = median(warmup_s.subspan(warmup_s.size() - 2 * n, n));
  return std::abs(last_s - before_s) <= 0.01 * before_s;
}

}  // namespace packsim::microbench
