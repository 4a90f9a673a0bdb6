#include "sim/reliability/period_time.hpp"

#include <cmath>

namespace packsim {
namespace {

// The mean time of a failure that comes within a stretch of x mean times between failures, as a share of the
// stretch. Series replace the formulas where these lose digits.
double mean_failure_share(double x) {
  if (x < 0.1) return 0.5 - x / 12 * (1 - x * x / 60 * (1 - x * x / 42));
  return 1 / x - 1 / std::expm1(x);
}

double variance_failure_share(double x) {
  if (x < 0.1) {
    const double x2 = x * x;
    return 1.0 / 12 - x2 / 240 + x2 * x2 / 6048 - x2 * x2 * x2 / 172800;
  }
  const double half = std::sinh(x / 2);
  return 1 / (x * x) - 1 / (4 * half * half);
}

double sinh_less_argument(double x) {
  if (x > 0.5) return std::sinh(x) - x;
  double term = x * x * x / 6;
  double sum = 0;
  for (int k = 4; k < 20; k += 2) {
    sum += term;
    term *= x * x / (k * (k + 1));
  }
  return sum;
}

}  // namespace

double PeriodTime::mean_s() const {
  if (failures_per_s == 0) return period.first_s;
  return std::expm1(failures_per_s * period.first_s) / failures_per_s *
         std::exp(failures_per_s * (restart_s + period.redo_s));
}

double PeriodTime::variance_s2() const {
  if (failures_per_s == 0) return 0;
  // One attempt succeeds or not. If not, it took a part of first_s, and what follows is a stretch to be
  // passed in one go, with mean (e^x - 1) M and variance (e^(2x) - 2 x e^x - 1) M^2.
  const double x = failures_per_s * period.first_s;
  const double stretch = failures_per_s * (restart_s + period.redo_s + period.first_s);
  const double failed = -std::expm1(-x);
  const double failed_at_s = period.first_s * mean_failure_share(x);
  const double rest_s = std::expm1(stretch) / failures_per_s;
  const double variance_failed_at = period.first_s * period.first_s * variance_failure_share(x);
  const double variance_rest =
      2 * std::exp(stretch) * sinh_less_argument(stretch) / (failures_per_s * failures_per_s);
  const double delay_s = failed_at_s + rest_s - period.first_s;
  return failed * (variance_failed_at + variance_rest) + failed * (1 - failed) * delay_s * delay_s;
}

std::complex<double> PeriodTime::transform_of_delay(std::complex<double> s) const {
  const std::complex<double> z = failures_per_s + s;
  const double stretch_s = restart_s + period.redo_s + period.first_s;
  const auto failure_within = [&](double time_s) {
    return failures_per_s * (1.0 - std::exp(-z * time_s)) / z;
  };
  const std::complex<double> rest = std::exp(-z * stretch_s) / (1.0 - failure_within(stretch_s));
  const std::complex<double> time = std::exp(-z * period.first_s) + failure_within(period.first_s) * rest;
  return time * std::exp(s * period.first_s);
}

double mean_wall_s(const RunClock& clock, double restart_s, double failures_per_s) {
  double wall_s = 0;
  for (const EqualPeriods& equal : clock.periods()) {
    if (equal.n > 0) wall_s += equal.n * PeriodTime{equal.period, restart_s, failures_per_s}.mean_s();
  }
  return wall_s;
}

}  // namespace packsim
