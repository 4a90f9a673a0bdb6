#pragma once

#include <array>
#include <span>
#include <vector>

namespace packsim {

/// How long the slowest of several GPUs takes for a piece of work that each does at the same time, over what
/// the mean GPU takes for it.
struct SlowestGpu {
  double mean = 1;
  double sd = 0;
};

/// The slowest of GPUs that are slower by these factors, each with independent log-normal noise of mean 1 and
/// this relative spread, by quadrature; without noise, the largest factor. factors: at least one, each over
/// 0.
SlowestGpu slowest_gpu(std::span<const double> factors, double relative_spread);

/// The same for one set of GPUs and any spread up to a largest one, on straight lines between 16 spreads.
/// Means are within 0.4 % of the largest spread, worst where factors differ about as much as noise does.
class SlowestGpus {
 public:
  SlowestGpus(std::vector<double> factors, double largest_spread);

  SlowestGpu at(double relative_spread) const;
  double without_noise() const { return without_noise_; }
  std::size_t n_gpus() const { return n_gpus_; }

 private:
  static constexpr std::size_t kSteps = 16;

  std::size_t n_gpus_ = 1;
  double without_noise_ = 1;
  double largest_spread_ = 0;
  std::array<SlowestGpu, kSteps + 1> table_;  // at equal steps of the spread, from 0
};

}  // namespace packsim
