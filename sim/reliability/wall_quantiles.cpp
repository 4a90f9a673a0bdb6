#include "sim/reliability/wall_quantiles.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace packsim {
namespace {

// The distribution of the time that failures add to a run, around its mean: a lump at no failure, and a
// continuous rest.
class DelayDistribution {
 public:
  DelayDistribution(std::span<const EqualTimes> times, double mean_s, double sd_s)
      : least_s_(-mean_s), range_s_(40 * sd_s) {
    double failures = 0;
    for (const EqualTimes& equal : times) {
      failures += equal.n * equal.time.failures_per_s * equal.time.period.first_s;
    }
    unharmed_ = std::exp(-failures);
    // The smoothing leaves nothing of the terms after these: exp(-20).
    for (int m = 1; m <= 4096; ++m) terms_.push_back(term(times, m, sd_s / 100));
  }

  double unharmed() const { return unharmed_; }

  // The probability that the delay is below mean + from_mean_s, for delays above 0.
  double below(double from_mean_s) const {
    // Each term times the integral of its wave from half a range below the mean, where it is 1 or -1.
    double sum = (1 - unharmed_) * (from_mean_s / range_s_ + 0.5);
    const std::complex<double> turn = std::polar(1.0, 2 * std::numbers::pi * from_mean_s / range_s_);
    std::complex<double> wave = 1;
    double start = 1;
    for (const std::complex<double>& term : terms_) {
      wave *= turn;
      start = -start;
      sum += term.real() * wave.imag() + term.imag() * (wave.real() - start);
    }
    return unharmed_ + sum;
  }

 private:
  std::complex<double> term(std::span<const EqualTimes> times, int m, double smoothing_s) const {
    const double frequency = 2 * std::numbers::pi * m / range_s_;
    const std::complex<double> s(0, frequency);
    std::complex<double> product = 1;
    for (const EqualTimes& equal : times) {
      if (equal.n > 0) product *= std::pow(equal.time.transform_of_delay(s), equal.n);
    }
    const double smoothed = std::exp(-frequency * frequency * smoothing_s * smoothing_s / 2);
    return (product - unharmed_) * std::exp(-s * least_s_) * smoothed / (std::numbers::pi * m);
  }

  double least_s_;
  double range_s_;
  double unharmed_ = 1;
  std::vector<std::complex<double>> terms_;
};

}  // namespace

WallQuantiles wall_quantiles(std::span<const EqualTimes> times, double mean_delay_s, double sd_s) {
  double shortest_s = 0;
  for (const EqualTimes& equal : times) shortest_s += equal.n * equal.time.period.first_s;
  const DelayDistribution delay(times, mean_delay_s, sd_s);
  const auto quantile_s = [&](double probability) {
    if (probability <= delay.unharmed()) return shortest_s;
    double low = std::max(-mean_delay_s, -20 * sd_s);
    double high = 20 * sd_s;
    for (int i = 0; i < 28; ++i) {
      const double middle = (low + high) / 2;
      (delay.below(middle) < probability ? low : high) = middle;
    }
    return shortest_s + mean_delay_s + low;
  };
  return {quantile_s(0.05), quantile_s(0.5), quantile_s(0.95)};
}

}  // namespace packsim
