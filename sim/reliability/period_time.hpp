#pragma once

#include <complex>

#include "sim/reliability/run_clock.hpp"

namespace packsim {

/// The time that a period takes with failures, a random number: attempts until one of length first_s is not
/// cut short, or, after a failure, one of length redo_s + first_s. Each failure costs restart_s before the
/// next attempt, during which the next failure may come.
struct PeriodTime {
  Period period;
  double restart_s = 0;
  double failures_per_s = 0;

  /// (exp(first / M) - 1) M exp((restart + redo) / M), with M seconds between failures: the complete model of
  /// Daly (2006) for the same first and later attempts. Infinity beyond the range of a double.
  double mean_s() const;
  double variance_s2() const;
  /// The mean of exp(-s (time - first_s)), the transform of what failures add. failures_per_s > 0.
  std::complex<double> transform_of_delay(std::complex<double> s) const;
};

/// The mean time of a whole run.
double mean_wall_s(const RunClock& clock, double restart_s, double failures_per_s);

}  // namespace packsim
