#include "planning/exposed_time.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <stdexcept>

#include "packing/algorithms/shuffle.hpp"

namespace packsim::testing {
namespace {

using Times = std::vector<double>;

Times random_times(Generator& generator, std::size_t n) {
  Times times(n);
  for (double& time : times) time = uniform_up_to(generator, 1000) / 64.0;  // exact in binary
  return times;
}

}  // namespace

TEST_CASE("FlexSP's 6.45 s a solve hide behind 3.02 s of training but for 3.43 s") {
  // HBP (arXiv 2503.07680) table 14, Tulu3 and LongCite: one process that looks one batch ahead.
  const Times exposed = exposed_time_s(Times(10, 6.45), Times(10, 3.02), {});
  CHECK(exposed[0] == 6.45);
  for (std::size_t i = 1; i < exposed.size(); ++i) CHECK(exposed[i] == Approx(3.43));
}

TEST_CASE("with one process and one batch of look-ahead an iteration waits for solve - model before it") {
  Generator generator(1);
  for (int repeat = 0; repeat < 100; ++repeat) {
    const Times solve = random_times(generator, 20);
    const Times model = random_times(generator, 20);
    const Times exposed = exposed_time_s(solve, model, {});
    CHECK(exposed[0] == solve[0]);
    // Plan i is begun as iteration i - 1 starts, whose own plan is then done.
    for (std::size_t i = 1; i < 20; ++i) CHECK(exposed[i] == std::max(0.0, solve[i] - model[i - 1]));
  }
}

TEST_CASE("three processes and three batches of look-ahead hide what one process cannot") {
  // Plans of 6.45 s, three at a time, are one each 2.15 s: less than the 3.02 s of training.
  const Times exposed =
      exposed_time_s(Times(30, 6.45), Times(30, 3.02), {.n_processes = 3, .look_ahead_batches = 3});
  CHECK(exposed[0] == 6.45);
  for (std::size_t i = 1; i < exposed.size(); ++i) CHECK(exposed[i] == 0);
  // Two are too few: 3.225 s a plan, 0.205 s more than an iteration, two iterations' worth every second time.
  const Times two =
      exposed_time_s(Times(31, 6.45), Times(31, 3.02), {.n_processes = 2, .look_ahead_batches = 3});
  CHECK(std::accumulate(two.begin() + 1, two.end(), 0.0) == Approx(30 * (6.45 / 2 - 3.02)));
}

TEST_CASE("without look-ahead every solve is exposed") {
  Generator generator(2);
  const Times solve = random_times(generator, 20);
  CHECK(exposed_time_s(solve, random_times(generator, 20), {.look_ahead_batches = 0}) == solve);
}

TEST_CASE("one batch ahead, a second process has nothing to do") {
  Generator generator(3);
  const Times solve = random_times(generator, 20);
  const Times model = random_times(generator, 20);
  CHECK(exposed_time_s(solve, model, {.n_processes = 2}) == exposed_time_s(solve, model, {}));
}

TEST_CASE("looking further ahead, and more processes, never make training end later") {
  Generator generator(4);
  for (int repeat = 0; repeat < 100; ++repeat) {
    const Times solve = random_times(generator, 20);
    const Times model = random_times(generator, 20);
    const auto total = [&](int n_processes, int look_ahead) {
      const Times exposed =
          exposed_time_s(solve, model, {.n_processes = n_processes, .look_ahead_batches = look_ahead});
      return std::accumulate(exposed.begin(), exposed.end(), 0.0);
    };
    for (int n = 1; n < 4; ++n) {
      for (int look_ahead = 0; look_ahead < 4; ++look_ahead) {
        CHECK(total(n, look_ahead + 1) <= total(n, look_ahead));
        CHECK(total(n + 1, look_ahead) <= total(n, look_ahead));
      }
    }
  }
}

TEST_CASE("times that cannot be are refused") {
  const Times one = {1};
  const Times two = {1, 1};
  const Times negative = {-1};
  CHECK(exposed_time_s({}, {}, {}).empty());
  CHECK_THROWS_AS(exposed_time_s(one, two, {}), std::invalid_argument);
  CHECK_THROWS_AS(exposed_time_s(negative, one, {}), std::invalid_argument);
  CHECK_THROWS_AS(exposed_time_s(one, negative, {}), std::invalid_argument);
  CHECK_THROWS_AS(exposed_time_s(one, one, {.n_processes = 0}), std::invalid_argument);
  CHECK_THROWS_AS(exposed_time_s(one, one, {.look_ahead_batches = -1}), std::invalid_argument);
}

}  // namespace packsim::testing
