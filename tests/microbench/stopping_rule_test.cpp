#include "calibration/microbench/core/stopping_rule.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <vector>

namespace packsim::microbench {

TEST_CASE("the noise of a median is the larger of two robust estimates of its standard error") {
  // Median 1; deviations 0, 0.05, 0.05, 0.1, 0.1, of which 0.05 is the middle:
  // 1.2533 x 1.4826 x 0.05 / sqrt(5) = 0.0415. Ranks 2 -+ sqrt(5) / 2: (1.0559 - 0.9441) / 2.
  const std::vector<double> samples_s = {1, 1.1, 0.9, 1.05, 0.95};
  CHECK(median(samples_s) == 1);
  CHECK(median_noise(samples_s) == Approx(0.0559).epsilon(1e-3));
  CHECK(median(std::vector<double>{4, 1, 3, 2}) == 2.5);
  CHECK(std::isinf(median_noise(std::vector<double>{1, 1})));
  // One disturbed sample of many counts as one sample, however long it took.
  std::vector<double> many_s;
  for (int i = 0; i < 25; ++i) many_s.push_back(1 + 0.01 * (i % 5));
  const double noise = median_noise(many_s);
  many_s.front() = 1000;
  CHECK(median_noise(many_s) == Approx(noise).epsilon(0.3));
  // Hopping between two clocks: the deviations of 1, 1, 1, 2, 2 are 0 in the middle, and yet it is noisy.
  CHECK(median_noise(std::vector<double>{1, 2, 1, 2, 1}) == Approx(0.5));
}

TEST_CASE("the noise is what medians of that many samples scatter by, or up to 40 % more") {
  std::mt19937_64 random(7);
  // Twelve uniform values less six are normal but for the far tails, with a standard deviation of 1.
  const auto normal = [&] {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(random() >> 11) * 0x1p-53;
    return sum;
  };
  const auto n_samples = GENERATE(10, 51, 200);
  double squares = 0;
  double noise = 0;
  constexpr int kRuns = 2000;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<double> samples_s;
    for (int i = 0; i < n_samples; ++i) samples_s.push_back(1 + 0.01 * normal());
    squares += std::pow(median(samples_s) - 1, 2);
    noise += median_noise(samples_s);
  }
  const double scatter = std::sqrt(squares / kRuns);
  CHECK(noise / kRuns > 0.97 * scatter);
  CHECK(noise / kRuns < 1.4 * scatter);
}

TEST_CASE("sampling ends when it is quiet, and when time or samples are used up") {
  const StoppingRule rule{.noise_fraction = 0.01, .min_samples = 4, .max_samples = 6, .longest_s = 10};
  const std::vector<double> quiet_s = {1, 1, 1, 1, 1, 1};
  const std::vector<double> loud_s = {1, 2, 3, 4, 5, 6};
  const auto first = [](const std::vector<double>& samples_s, std::size_t n) {
    return std::span(samples_s).first(n);
  };
  CHECK(judge(rule, first(quiet_s, 3), 0) == Verdict::go_on);
  CHECK(judge(rule, first(quiet_s, 4), 0) == Verdict::quiet);
  CHECK(judge(rule, first(loud_s, 5), 9) == Verdict::go_on);
  CHECK(judge(rule, first(loud_s, 5), 10) == Verdict::noisy);
  CHECK(judge(rule, loud_s, 0) == Verdict::noisy);
  // The least samples are waited for four times as long as a case may take, not for ever.
  CHECK(judge(rule, first(quiet_s, 3), 39) == Verdict::go_on);
  CHECK(judge(rule, first(quiet_s, 3), 40) == Verdict::noisy);
}

TEST_CASE("a kernel is warm when three calls take as long as the three before, within 1 %") {
  CHECK_FALSE(is_warm(std::vector<double>{1, 1, 1, 1, 1}));
  CHECK_FALSE(is_warm(std::vector<double>{9, 3, 2, 1.5, 1.2, 1.1}));
  CHECK(is_warm(std::vector<double>{9, 3, 1.1, 1.005, 1.004, 1.001, 1, 1}));
}

}  // namespace packsim::microbench
