#pragma once

#include <cmath>
#include <numbers>
#include <random>
#include <string>

#include "models/kernels/measurement.hpp"

namespace packsim {

/// Made-up measurements: true times with 1 % of noise, one row in twenty off by 1.5 to 3 times.
class Synthetic {
 public:
  explicit Synthetic(std::uint64_t seed, double noise = 0.01, double outlier_fraction = 0.05)
      : random_(seed), noise_(noise), outlier_fraction_(outlier_fraction) {
    measurements.sources.push_back(
        {.id = "", .gpu = "GPU", .provenance = "made up", .licence = {}, .details = {}});
    measurements.complete = true;
  }

  /// A number in [0, 1).
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  double normal() {
    return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(2 * std::numbers::pi * uniform());
  }
  /// Adds a row; true where it is an outlier.
  bool add(const std::string& kernel, double true_s, const std::string& library = "lib") {
    const bool outlier = uniform() < outlier_fraction_;
    double time_s = true_s * std::exp(noise_ * normal());
    if (outlier) time_s *= 1.5 + 1.5 * uniform();
    measurements.rows.push_back({.kernel = KernelCase::parse(kernel),
                                 .library = library,
                                 .source = "",
                                 .samples_s = {time_s},
                                 .parts_s = {},
                                 .flags = {},
                                 .note = {}});
    return outlier;
  }

  Measurements measurements;

 private:
  std::mt19937_64 random_;
  double noise_;
  double outlier_fraction_;
};

/// How often numbers came out within so many of their standard errors of the truth.
struct Hits {
  int n = 0;
  int within_2 = 0;
  int within_3 = 0;

  void add(double value, double standard_error, double truth) {
    ++n;
    within_2 += std::abs(value - truth) <= 2 * standard_error ? 1 : 0;
    within_3 += std::abs(value - truth) <= 3 * standard_error ? 1 : 0;
  }
  double rate_2() const { return static_cast<double>(within_2) / n; }
  double rate_3() const { return static_cast<double>(within_3) / n; }
};

}  // namespace packsim
