#include "tests/sim/closed_forms/spread_closed_forms.hpp"

#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

#include "sim/variability/normal.hpp"

namespace packsim {

double spread_of_sum(double kernel_spread, std::span<const double> times_s) {
  double sum_s = 0;
  double squares = 0;
  for (const double time_s : times_s) {
    sum_s += time_s;
    squares += time_s * time_s;
  }
  return sum_s > 0 ? kernel_spread * std::sqrt(squares) / sum_s : 0.0;
}

double expected_slowest(double relative_spread, std::int64_t n) {
  if (n < 1) throw std::invalid_argument("n: expected at least 1, got " + std::to_string(n));
  // Of the logarithm of a factor with mean 1, whose relative spread is sqrt(exp(sigma^2) - 1).
  const double sigma = std::sqrt(std::log1p(relative_spread * relative_spread));
  // The integral of the factor at z times the density of the largest of n normals. The trapezium rule
  // converges at once for an integrand as smooth as this, which is nothing at both ends: 1e-15 of it is below
  // -8.
  constexpr double kStep = 1.0 / 64;
  constexpr double kLow = -8;
  constexpr double kHigh = 12;
  double integral = 0;
  for (double z = kLow; z < kHigh + sigma; z += kStep) {
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
    const double others_below = std::exp(static_cast<double>(n - 1) * std::log1p(-normal_upper_tail(z)));
    const double factor = std::exp(sigma * z - sigma * sigma / 2);
    integral += factor * static_cast<double>(n) * density * others_below * kStep;
  }
  return integral;
}

}  // namespace packsim
