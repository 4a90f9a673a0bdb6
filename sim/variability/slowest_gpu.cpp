#include "sim/variability/slowest_gpu.hpp"

#include <algorithm>
#include <cmath>

#include "sim/variability/normal.hpp"

namespace packsim {
namespace {

// The probability that all of them are done by `time`.
double all_done(std::span<const double> factors, double sigma, double time) {
  double probability = 1;
  for (const double factor : factors)
    probability *= normal_upper_tail(-(std::log(time / factor) / sigma + sigma / 2));
  return probability;
}

}  // namespace

SlowestGpu slowest_gpu(std::span<const double> factors, double relative_spread) {
  const double largest = std::ranges::max(factors);
  if (relative_spread == 0) return {.mean = largest, .sd = 0};
  if (factors.size() == 1) return {.mean = largest, .sd = largest * relative_spread};
  // The chance that the slowest is done within each of many short slices of time, which are equal steps of
  // the normal number behind the largest factor. It is outside all of them in 1e-15 of the cases.
  constexpr double kLow = -8;
  constexpr double kHigh = 12;
  constexpr int kSlices = 400;
  const double sigma = std::sqrt(std::log1p(relative_spread * relative_spread));
  const auto time_at = [&](double slice) {
    const double z = kLow + (kHigh - kLow) * slice / kSlices;
    return largest * std::exp(sigma * z - sigma * sigma / 2);
  };
  double mean = 0;
  double square = 0;  // of what is over `largest`, which keeps its digits
  double done_before = 0;
  for (int slice = 0; slice < kSlices; ++slice) {
    const double done = all_done(factors, sigma, time_at(slice + 1));
    const double over = time_at(slice + 0.5) - largest;
    mean += (done - done_before) * over;
    square += (done - done_before) * over * over;
    done_before = done;
  }
  return {.mean = largest + mean, .sd = std::sqrt(square - mean * mean)};
}

SlowestGpus::SlowestGpus(std::vector<double> factors, double largest_spread)
    : n_gpus_(factors.size()), without_noise_(std::ranges::max(factors)), largest_spread_(largest_spread) {
  for (std::size_t i = 0; i < table_.size(); ++i)
    table_[i] = slowest_gpu(factors, largest_spread * static_cast<double>(i) / kSteps);
}

SlowestGpu SlowestGpus::at(double relative_spread) const {
  if (largest_spread_ == 0) return table_[0];
  const double place = std::min(1.0, relative_spread / largest_spread_) * kSteps;
  const auto low = std::min(static_cast<std::size_t>(place), kSteps - 1);
  const double part = place - static_cast<double>(low);
  const auto between = [&](double SlowestGpu::*value) {
    return table_[low].*value + part * (table_[low + 1].*value - table_[low].*value);
  };
  return {.mean = between(&SlowestGpu::mean), .sd = between(&SlowestGpu::sd)};
}

}  // namespace packsim
