#pragma once

#include <map>
#include <string>

namespace packsim {

/// What may be wrong with the estimated time of a run or a step: independent errors of the logarithm of the
/// time, each as one standard deviation.
struct TimeErrors {
  /// The errors that another run of the same job has too, as far as it spends its time on the same, by what
  /// errs: "kernels of gemm". One that makes this run longer while it makes others shorter is negative.
  std::map<std::string, double> shared = {};
  double own = 0;  ///< the error that no other run shares

  bool is_known() const { return own > 0 || !shared.empty(); }
};

/// Standard deviations of the logarithm of a run's time, and of that of the ratio of two runs' times, in
/// which what both share cancels out.
double time_error(const TimeErrors& errors);
double ratio_error(const TimeErrors& a, const TimeErrors& b);

/// exp of so many standard deviations that nine of ten log-normal errors are between 1 / factor and the
/// factor.
double nine_of_ten_factor(double error);

}  // namespace packsim
