#include "calibration/microbench/core/stopping_rule.hpp"

#include <algorithm>
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
  const StoppingRule rule{
      .noise_fraction = 0.01, .min_samples = 4, .max_samples = 6, .longest_s = 10, .shortest_s = 0};
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

TEST_CASE("quiet samples go on for the shortest time, and fewer long calls are enough") {
  const StoppingRule rule{.min_samples = 10, .max_samples = 300, .longest_s = 2, .shortest_s = 0.15};
  const std::vector<double> short_s(400, 1e-3);
  CHECK(judge(rule, short_s, 0.149) == Verdict::go_on);  // also where there are more than the most samples
  CHECK(judge(rule, short_s, 0.15) == Verdict::quiet);
  const std::vector<double> long_s(5, 0.1);
  CHECK(judge(rule, std::span(long_s).first(4), 0.4) == Verdict::go_on);
  CHECK(judge(rule, long_s, 0.5) == Verdict::quiet);
  const std::vector<double> below_s(9, 0.0199);
  CHECK(judge(rule, below_s, 0.5) == Verdict::go_on);
  // A budget that leaves less than the shortest time cannot make a case quiet.
  CHECK(judge({.longest_s = 0.1, .shortest_s = 0.15}, short_s, 0.1) == Verdict::noisy);
}

TEST_CASE("samples that drift are as noisy as a third of the drift, however many there are") {
  std::vector<double> samples_s;
  for (int i = 0; i <= 3000; ++i) samples_s.push_back(1 + 0.03 * i / 3000);
  // The medians of the outer thirds are 0.02 apart; half of that is 0.01 of 1.015, and the ranks say 0.0003.
  CHECK(median_noise(samples_s) == Approx(0.0095).epsilon(0.03));
  std::shuffle(samples_s.begin(), samples_s.end(), std::mt19937_64(7));
  CHECK(median_noise(samples_s) < 0.0006);
}

TEST_CASE("a kernel is warm when a quarter of its calls take as long as the quarter before, within 1 %") {
  CHECK_FALSE(is_warm(std::vector<double>{1, 1, 1, 1, 1}));
  CHECK_FALSE(is_warm(std::vector<double>{9, 3, 2, 1.5, 1.2, 1.1}));
  CHECK(is_warm(std::vector<double>{9, 3, 1.1, 1.005, 1.004, 1.001, 1, 1}));
  // Of many calls, quarters are compared: three neighbours cannot show a slow fall of the clock.
  std::vector<double> falling_s;
  for (int i = 0; i < 400; ++i) falling_s.push_back(1 + 0.05 * i / 400);
  CHECK_FALSE(is_warm(falling_s));
}

}  // namespace packsim::microbench
