#include "sim/variability/slowest_gpu.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "sim/variability/variability.hpp"
#include "tests/sim/closed_forms/spread_closed_forms.hpp"

namespace packsim {
namespace {

TEST_CASE("the slowest of GPUs that are alike takes what the closed form of equal ones says") {
  for (const std::size_t n : {1U, 2U, 8U, 64U, 1024U}) {
    const std::vector<double> factors(n, 1.2);
    for (const double spread : {0.001, 0.02, 0.3}) {
      const double expected = 1.2 * expected_slowest(spread, static_cast<std::int64_t>(n));
      CHECK(slowest_gpu(factors, spread).mean == Approx(expected).epsilon(1e-4 * spread));
    }
  }
}

TEST_CASE("without noise the slowest takes its factor; alone a GPU keeps mean and spread") {
  const std::vector<double> factors = {1.1, 0.9, 1.3, 1.0};
  CHECK(slowest_gpu(factors, 0).mean == 1.3);
  CHECK(slowest_gpu(factors, 0).sd == 0);
  CHECK(slowest_gpu(std::vector{1.3}, 0.1).mean == 1.3);
  CHECK(slowest_gpu(std::vector{1.3}, 0.1).sd == Approx(0.13));
  // One that is slower by 20 spreads is the slowest always.
  CHECK(slowest_gpu(std::vector{1.0, 1.4}, 0.02).mean == Approx(1.4).epsilon(1e-6));
  CHECK(slowest_gpu(std::vector{1.0, 1.4}, 0.02).sd == Approx(0.028).epsilon(1e-3));
}

TEST_CASE("the slowest of unlike GPUs has the mean and deviation of the largest of so many draws") {
  const std::vector<double> factors = {1.0, 1.02, 0.97, 1.05, 1.05};
  constexpr double kSpread = 0.04;
  constexpr int kDraws = 200'000;
  double sum = 0;
  double squares = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    double slowest = 0;
    for (std::uint64_t gpu = 0; gpu < factors.size(); ++gpu)
      slowest = std::max(slowest, factors[gpu] * noise_factor(1, {gpu, i, 0}, kSpread));
    sum += slowest;
    squares += slowest * slowest;
  }
  const double mean = sum / kDraws;
  const double sd = std::sqrt(squares / kDraws - mean * mean);
  const SlowestGpu slowest = slowest_gpu(factors, kSpread);
  CHECK(std::abs(slowest.mean - mean) < 4 * sd / std::sqrt(kDraws));
  // The standard error of a normal's deviation is sd / sqrt(2 n).
  CHECK(std::abs(slowest.sd - sd) < 5 * sd / std::sqrt(2.0 * kDraws));
}

TEST_CASE("between the spreads of its table the slowest is within 0.4 % of the largest spread") {
  constexpr double kLargest = 0.05;
  for (const std::vector<double>& factors :
       {std::vector<double>(8, 1.0), std::vector{1.0, 1.01, 0.99, 1.003}, std::vector{1.3}}) {
    const SlowestGpus gpus(factors, kLargest);
    CHECK(gpus.n_gpus() == factors.size());
    CHECK(gpus.without_noise() == std::ranges::max(factors));
    for (int i = 0; i <= 100; ++i) {
      const double spread = kLargest * i / 100;
      const SlowestGpu exact = slowest_gpu(factors, spread);
      CHECK(std::abs(gpus.at(spread).mean - exact.mean) < 4e-3 * kLargest);
      CHECK(std::abs(gpus.at(spread).sd - exact.sd) < 1e-2 * kLargest);
    }
  }
  CHECK(SlowestGpus({1.0, 1.2}, 0).at(0).mean == 1.2);
}

}  // namespace
}  // namespace packsim
