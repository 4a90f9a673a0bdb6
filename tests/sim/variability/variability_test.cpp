#include "sim/variability/variability.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>

#include "sim/engine/op_engine.hpp"
#include "sim/variability/counter_random.hpp"
#include "sim/variability/normal.hpp"
#include "tests/sim/closed_forms/spread_closed_forms.hpp"

namespace packsim {
namespace {

struct Moments {
  double mean = 0;
  double sd = 0;
  double standard_error = 0;
};

Moments moments(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  Moments found;
  for (const double value : values) found.mean += value / n;
  for (const double value : values) found.sd += (value - found.mean) * (value - found.mean) / (n - 1);
  found.sd = std::sqrt(found.sd);
  found.standard_error = found.sd / std::sqrt(n);
  return found;
}

TEST_CASE("the words of names are SplitMix64's, and differ for names that differ") {
  // SplitMix64 from state 0 gives 0xe220a8397b1dcdaf first, and from that state 0xa706dd2f4d197e6f.
  CHECK(random_word(0, Draw::speed, {}) == 0xa706dd2f4d197e6fU);
  std::set<std::uint64_t> words;
  for (std::uint64_t i = 0; i < 20; ++i) {
    for (std::uint64_t j = 0; j < 20; ++j) {
      for (std::uint64_t seed = 0; seed < 5; ++seed) words.insert(random_word(seed, Draw::noise, {i, j}));
    }
    words.insert(random_word(0, Draw::noise, {i}));
  }
  CHECK(words.size() == 20 * 20 * 5 + 20);
}

TEST_CASE("uniform numbers never reach 0 or 1") {
  CHECK(open_uniform(0) > 0);
  CHECK(open_uniform(std::numeric_limits<std::uint64_t>::max()) < 1);
}

TEST_CASE("normal quantiles are the published ones, and undo the tail probability") {
  CHECK(normal_upper_quantile(0.5) == 0);
  CHECK(normal_upper_quantile(0.025) == Approx(1.959963984540054).epsilon(1e-15));
  CHECK(normal_upper_quantile(0.9) == Approx(-1.2815515655446004).epsilon(1e-15));
  for (double tail = 1e-300; tail < 1; tail *= 1.7) {
    const double z = normal_upper_quantile(tail);
    // An error in the 15th digit of z moves the tail by z^2 times as much of it.
    CAPTURE(z, tail);
    REQUIRE(std::abs(normal_upper_tail(z) / tail - 1) < 1e-15 * (4 + z * z));
  }
  for (const double bad : {0.0, 1.0, -0.5, std::numeric_limits<double>::quiet_NaN()}) {
    CHECK_THROWS_AS(normal_upper_quantile(bad), std::invalid_argument);
  }
}

TEST_CASE("factors have mean 1 and the spread that was asked for") {
  for (const double spread : {0.01, 0.1, 0.5}) {
    std::vector<double> speeds;
    std::vector<double> noise;
    for (std::int64_t i = 0; i < 100'000; ++i) {
      speeds.push_back(rank_factor({.rank_spread = spread, .seed = 3}, i));
      noise.push_back(noise_factor(3, {7, static_cast<std::uint64_t>(i), 1}, spread));
    }
    for (const auto& factors : {speeds, noise}) {
      const Moments found = moments(factors);
      CAPTURE(spread, found.mean, found.sd);
      CHECK(std::abs(found.mean - 1) < 4 * found.standard_error);
      CHECK(found.sd == Approx(spread).epsilon(0.02));
    }
  }
}

TEST_CASE("speeds, noise, ranks, iterations and operations are independent of each other") {
  std::vector<double> products;
  for (std::int64_t i = 0; i < 50'000; ++i) {
    const auto key = static_cast<std::uint64_t>(i);
    const double other = noise_factor(5, {key, 0, 0}, 0.1);
    for (const double factor : {rank_factor({.rank_spread = 0.1, .seed = 5}, i),
                                noise_factor(5, {key + 1, 0, 0}, 0.1), noise_factor(5, {key, 1, 0}, 0.1),
                                noise_factor(5, {key, 0, 1}, 0.1), noise_factor(6, {key, 0, 0}, 0.1)}) {
      products.push_back((factor - 1) * (other - 1));
    }
  }
  // Standard deviation of a product: 0.1^2. Five products share a factor, so a mean has a fifth of the
  // counts.
  CHECK(std::abs(moments(products).mean) < 4 * 0.01 / std::sqrt(50'000.0));
}

TEST_CASE("without spread every factor is exactly 1, and a slow rank exactly as slow as it says") {
  const Variability variability{.slow_ranks = {{17, 1.15}}, .seed = 9};
  CHECK(rank_factor(variability, 16) == 1);
  CHECK(rank_factor(variability, 17) == 1.15);
  CHECK(rank_factor(variability, 16, 8) == 1.15);
  CHECK(rank_factor(variability, 24, 8) == 1);
  CHECK(noise_factor(9, {1, 2, 3}, 0) == 1);
  // A spread multiplies what the rank is slow by.
  Variability spread = variability;
  spread.rank_spread = 0.05;
  Variability all_equal = spread;
  all_equal.slow_ranks.clear();
  CHECK(rank_factor(spread, 17) == Approx(1.15 * rank_factor(all_equal, 17)).epsilon(1e-15));
}

TEST_CASE("a group is as slow as its slowest rank") {
  const Variability variability{.rank_spread = 0.08, .slow_ranks = {{5, 1.1}}, .seed = 4};
  for (const std::int64_t n : {1, 2, 8, 64}) {
    double slowest = 0;
    for (std::int64_t rank = 0; rank < n; ++rank) slowest = std::max(slowest, rank_factor(variability, rank));
    CHECK(rank_factor(variability, 0, n) == slowest);
  }
}

TEST_CASE("the slowest of n is below x when all n are") {
  // One log-normal factor is below x with probability Phi(log(x) / sigma + sigma / 2).
  const double spread = 0.2;
  const double sigma = std::sqrt(std::log(1 + spread * spread));
  for (const std::int64_t n : {1, 2, 7, 1000, 1'000'000}) {
    for (const double probability : {1e-9, 0.05, 0.5, 0.95, 1 - 1e-9}) {
      const double x = slowest_quantile(probability, spread, n);
      const double z = std::log(x) / sigma + sigma / 2;
      const double log_below = z < 0 ? std::log(normal_upper_tail(-z)) : std::log1p(-normal_upper_tail(z));
      CHECK(static_cast<double>(n) * log_below == Approx(std::log(probability)).epsilon(1e-12));
    }
  }
}

TEST_CASE("one draw for n GPUs is distributed as the largest of n draws") {
  std::vector<double> together;
  std::vector<double> largest;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    together.push_back(noise_factor(1, {0, i, 0}, 0.1, 8));
    double slowest = 0;
    for (std::uint64_t gpu = 0; gpu < 8; ++gpu) {
      slowest = std::max(slowest, noise_factor(2, {gpu, i, 0}, 0.1));
    }
    largest.push_back(slowest);
  }
  const Moments a = moments(together);
  const Moments b = moments(largest);
  CHECK(std::abs(a.mean - b.mean) < 4 * std::hypot(a.standard_error, b.standard_error));
  CHECK(a.sd == Approx(b.sd).epsilon(0.03));
  CHECK(std::abs(a.mean - expected_slowest(0.1, 8)) < 4 * a.standard_error);
}

TEST_CASE("the mean of the slowest: closed forms for one, two and three") {
  for (const double spread : {0.01, 0.1, 0.7, 1.0}) {
    CHECK(expected_slowest(spread, 1) == Approx(1).epsilon(1e-12));
    // Of two log-normals with mean 1: 2 Phi(sigma / sqrt 2).
    const double sigma = std::sqrt(std::log(1 + spread * spread));
    CHECK(expected_slowest(spread, 2) ==
          Approx(2 * normal_upper_tail(-sigma / std::numbers::sqrt2)).epsilon(1e-12));
  }
  // A small spread is a normal one. The largest of two normals is on average 1 / sqrt(pi) = 0.5642 above the
  // mean, of three 3 / (2 sqrt(pi)) = 0.8463.
  CHECK((expected_slowest(1e-6, 2) - 1) / 1e-6 == Approx(0.5642).epsilon(1e-4));
  CHECK((expected_slowest(1e-6, 3) - 1) / 1e-6 == Approx(0.8463).epsilon(1e-4));
  for (std::int64_t n = 1; n < 1'000'000; n *= 3) {
    CHECK(expected_slowest(0.05, 3 * n) > expected_slowest(0.05, n));
  }
}

TEST_CASE("a sum of kernels spreads less than a kernel") {
  // sqrt(3^2 + 4^2) / (3 + 4) = 5 / 7; four alike: a half.
  CHECK(spread_of_sum(0.1, std::vector<double>{3, 4}) == Approx(0.1 * 5 / 7));
  CHECK(spread_of_sum(0.1, std::vector<double>{2, 2, 2, 2}) == Approx(0.05));
  CHECK(spread_of_sum(0.1, {}) == 0);
  const std::vector<double> times_s{0.5, 1, 2, 0.1};
  std::vector<double> sums;
  for (std::uint64_t i = 0; i < 50'000; ++i) {
    double sum_s = 0;
    for (std::uint64_t op = 0; op < times_s.size(); ++op) {
      sum_s += times_s[op] * noise_factor(8, {0, i, op}, 0.2);
    }
    sums.push_back(sum_s / 3.6);
  }
  const Moments found = moments(sums);
  CHECK(std::abs(found.mean - 1) < 4 * found.standard_error);
  CHECK(found.sd == Approx(spread_of_sum(0.2, times_s)).epsilon(0.02));
}

// Mean time of a step of equal ranks with noise, over that without, from the engine. Ranks meet at the end of
// the step, or behind every micro-batch as well.
Moments step_slowdown(std::size_t n_ranks, std::size_t n_micro_batches, double spread, bool meets_often) {
  constexpr double kMicroBatchS = 0.5;
  OpGraph graph;
  OpEngine engine;
  std::vector<double> slowdowns;
  for (std::uint64_t iteration = 0; iteration < 2000; ++iteration) {
    graph.clear();
    std::vector<CollectiveId> meetings;
    for (std::size_t m = 0; m < n_micro_batches; ++m) meetings.push_back(graph.add_collective({}));
    for (std::size_t rank = 0; rank < n_ranks; ++rank) {
      const StreamId stream = graph.add_stream(static_cast<std::uint32_t>(rank), StreamKind::compute);
      for (std::size_t m = 0; m < n_micro_batches; ++m) {
        const double noise = noise_factor(1, {rank, iteration, m}, spread);
        graph.add_work(stream, sim_time(kMicroBatchS * noise), Cause::linear);
        if (meets_often || m + 1 == n_micro_batches) graph.join(stream, meetings[m], Cause::states);
      }
    }
    const double step_s = to_seconds(engine.run(graph, nullptr, {}, SimTime{}));
    slowdowns.push_back(step_s / (kMicroBatchS * static_cast<double>(n_micro_batches)));
  }
  return moments(slowdowns);
}

TEST_CASE("the engine's steps with noise take what the integral says") {
  // A barrier after every micro-batch: the slowest of 32 each time.
  const Moments waves = step_slowdown(32, 4, 0.1, true);
  CHECK(std::abs(waves.mean - expected_slowest(0.1, 32)) < 4 * waves.standard_error);
  // One barrier a step: the slowest of 32 sums, each of half the spread. A sum of four log-normals is nearer
  // to a normal number than the log-normal that stands for it: 3e-4 less at the slowest of 32.
  const Moments step = step_slowdown(32, 4, 0.1, false);
  CHECK(std::abs(step.mean - expected_slowest(0.05, 32)) < 4 * step.standard_error + 3e-4);
  CHECK(step.mean + 10 * step.standard_error < waves.mean);
}

TEST_CASE("every mistake in a variability is named, with what was expected") {
  CHECK(variability_mistakes({.rank_spread = 0.1, .kernel_spread = 1, .slow_ranks = {{0, 2}, {7, 0.9}}}, 8)
            .empty());
  const Variability bad{.rank_spread = -0.1,
                        .kernel_spread = std::numeric_limits<double>::quiet_NaN(),
                        .slow_ranks = {{8, 1.1}, {3, 0}, {3, 1.2}}};
  const std::vector<std::string> expected{"rank_spread: expected 0..1, got -0.100000",
                                          "kernel_spread: expected 0..1, got nan",
                                          "slow_ranks[0].rank: expected 0..7, got 8",
                                          "slow_ranks[1].factor: expected a number above 0, got 0.000000",
                                          "slow_ranks[2].rank: expected each rank once, got 3 again"};
  CHECK(variability_mistakes(bad, 8) == expected);
}

TEST_CASE("nobody cannot be the slowest") {
  CHECK_THROWS_WITH(rank_factor({}, 0, 0), "n_ranks: expected at least 1, got 0");
  CHECK_THROWS_WITH(noise_factor(0, {}, 0.1, 0), "n_gpus: expected at least 1, got 0");
  CHECK_THROWS_WITH(slowest_quantile(0.5, 0.1, -1), "n: expected at least 1, got -1");
  CHECK_THROWS_WITH(expected_slowest(0.1, 0), "n: expected at least 1, got 0");
}

}  // namespace
}  // namespace packsim
