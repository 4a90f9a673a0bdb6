#include "sim/closed_forms.hpp"

#include <catch2/catch.hpp>
#include <random>

#include "sim/engine.hpp"
#include "tests/sim/random_ranks.hpp"

namespace packsim {
namespace {

TEST_CASE("one barrier a step: the step takes as long as the rank with the most work") {
  // Rank 0: 3 + 5 = 8. Rank 1: 6 + 1 = 7. Rank 2: 4.
  const Ranks ranks{{{3}, {5}}, {{6}, {1}}, {{4}}};
  CHECK(step_time(ranks, Barrier::iteration).ns == 8);
  // 3 x 8 = 24 of rank time, 8 + 7 + 4 = 19 of work: 5 of 24 wait.
  CHECK(idle_fraction(ranks, Barrier::iteration) == Approx(5.0 / 24));
}

TEST_CASE("one barrier a micro-batch: the step is the sum of the longest of each wave") {
  // Waves: max(3, 6, 4) = 6, max(5, 1) = 5.
  const Ranks ranks{{{3}, {5}}, {{6}, {1}}, {{4}}};
  CHECK(step_time(ranks, Barrier::micro_batch).ns == 11);
  // 3 x 11 = 33 of rank time, 19 of work.
  CHECK(idle_fraction(ranks, Barrier::micro_batch) == Approx(14.0 / 33));
}

TEST_CASE("no dealing out is faster than a fair share of the work, nor than the longest micro-batch") {
  // 19 over 3 ranks is 6 1/3, and time is whole.
  CHECK(step_lower_bound(Ranks{{{3}, {5}}, {{6}, {1}}, {{4}}}).ns == 7);
  // 12 over 3 ranks is 4, but somebody has 9 to do.
  CHECK(step_lower_bound(Ranks{{{9}}, {{2}}, {{1}}}).ns == 9);
}

TEST_CASE("a run is its steps, each with the fixed cost") {
  // 5 + 2, 1 + 2, 9 + 2.
  const std::vector<SimTime> steps{{5}, {1}, {9}};
  CHECK(run_time(steps, {2}).ns == 21);
}

TEST_CASE("nothing to do takes no time and nobody waits") {
  for (const Barrier barrier : {Barrier::iteration, Barrier::micro_batch}) {
    CHECK(step_time(Ranks(4), barrier).ns == 0);
    CHECK(idle_fraction(Ranks(4), barrier) == 0);
    CHECK(step_time(Ranks{}, barrier).ns == 0);
  }
  CHECK(step_lower_bound(Ranks(4)).ns == 0);
  CHECK(step_lower_bound(Ranks{}).ns == 0);
  CHECK(run_time({}, {2}).ns == 0);
}

TEST_CASE("the engine agrees with the closed forms to the nanosecond") {
  std::mt19937 generator(1);
  Engine engine;
  for (int i = 0; i < 3000; ++i) {
    const Ranks ranks = random_ranks(generator);
    for (const Barrier barrier : {Barrier::iteration, Barrier::micro_batch}) {
      const SimTime start{draw(generator, 0, 1000)};
      const SimTime step = engine.run(programs(ranks, barrier), start) - start;
      REQUIRE(step == step_time(ranks, barrier));
      REQUIRE(step >= step_lower_bound(ranks));

      SimTime waiting;
      for (const RankTimes& rank : engine.ranks()) waiting += step - rank.busy;
      const auto rank_time_ns = static_cast<double>(step.ns) * static_cast<double>(ranks.size());
      REQUIRE(static_cast<double>(waiting.ns) ==
              Approx(idle_fraction(ranks, barrier) * rank_time_ns).margin(1e-3));
    }
  }
}

}  // namespace
}  // namespace packsim
