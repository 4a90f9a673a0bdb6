#include "experiment/results/step_distribution.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>
#include <vector>

using namespace packsim;

TEST_CASE("a quantile is the smallest step time that so many steps do not exceed") {
  const std::vector<double> step_s = {4, 1, 3, 2, 5, 6};
  CHECK(step_quantiles(step_s, 100) == std::vector<double>{1, 2, 3, 4, 5, 6});
  // A third, two thirds, and all of six steps.
  CHECK(step_quantiles(step_s, 3) == std::vector<double>{2, 4, 6});
  // A quarter of six is one and a half, so two steps.
  CHECK(step_quantiles(step_s, 4) == std::vector<double>{2, 3, 5, 6});
  CHECK(step_quantiles({}, 4).empty());
  CHECK_THROWS_AS(step_quantiles(step_s, 0), std::invalid_argument);
}

TEST_CASE("the median step of an even number is the faster one, and equal steps are in order") {
  CHECK(median_step(std::vector<double>{4, 1, 3, 2}) == 3);
  CHECK(median_step(std::vector<double>{5, 2, 2, 2, 1}) == 2);
  CHECK(slowest_step(std::vector<double>{1, 7, 7, 3}) == 1);
}

TEST_CASE("the slowest steps come with what they train") {
  // Two groups; iteration 1 has packs of both.
  const std::vector<std::vector<MicroBatch>> batches = {
      {{.tokens = 100, .longest_tokens = 60}, {.tokens = 80, .longest_tokens = 80}},
      {{.tokens = 500, .longest_tokens = 500}}};
  Schedule schedule;
  schedule.n_gpus = 2;
  schedule.groups = {{.gpus_per_pack = 1, .n_dp_ranks = 2}, {.gpus_per_pack = 2, .n_dp_ranks = 1}};
  schedule.placed = {{.pack = 0, .group = 0}, {.pack = 1, .group = 0}, {.pack = 0, .group = 1}};
  schedule.iterations = {{.first_placed = 0, .n_placed = 1}, {.first_placed = 1, .n_placed = 2}};
  const std::vector<double> step_s = {2, 2};
  const std::vector<double> abr = {0.5, 0.25};
  const std::vector<SlowStep> slowest = slowest_steps(schedule, batches, step_s, abr, 5);
  REQUIRE(slowest.size() == 2);
  CHECK(slowest[0].iteration == 0);  // the earlier of two that are equally slow
  CHECK(slowest[0].tokens == 100);
  CHECK(slowest[0].gpus_per_pack == 1);
  CHECK(slowest[1].tokens == 580);
  CHECK(slowest[1].longest_tokens == 500);
  CHECK(slowest[1].abr == 0.25);
  CHECK_FALSE(slowest[1].gpus_per_pack);
  CHECK(slowest_steps(schedule, batches, step_s, abr, 1).size() == 1);
}
