#include "sim/engine.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>

#include "tests/sim/random_ranks.hpp"

namespace packsim {
namespace {

constexpr std::array kBarriers{Barrier::iteration, Barrier::micro_batch};

SimTime step(const Ranks& ranks, Barrier barrier) {
  return Engine{}.run(programs(ranks, barrier), {});
}

SimTime sum(const std::vector<SimTime>& times) {
  return std::accumulate(times.begin(), times.end(), SimTime{});
}

TEST_CASE("ranks run their operations one after another, and wait for the last one") {
  // From 100 on: rank 0 works 3 + 4 = 7, rank 1 works 5; both meet at 107; rank 0 works 1 more and rank 1
  // none.
  Programs made;
  const std::uint32_t meeting = made.add_barrier(2);
  made.add_rank();
  made.run({3});
  made.run({4});
  made.wait(meeting);
  made.run({1});
  made.add_rank();
  made.run({5});
  made.wait(meeting);

  Engine engine;
  CHECK(engine.run(made, {100}).ns == 108);
  CHECK(engine.ranks()[0].busy.ns == 8);
  CHECK(engine.ranks()[0].finish.ns == 108);
  CHECK(engine.ranks()[1].busy.ns == 5);
  CHECK(engine.ranks()[1].finish.ns == 107);
  CHECK(engine.n_events() == 2 + 4 + 1);  // starts, finished operations, barriers
}

TEST_CASE("a barrier that takes time opens so long after the last rank") {
  // Work 3 and 5, then 10 for the barrier: neither rank is busy in it.
  Programs made;
  const std::uint32_t meeting = made.add_barrier(2, {10});
  for (const std::int64_t work_ns : {3, 5}) {
    made.add_rank();
    made.run({work_ns});
    made.wait(meeting);
  }
  Engine engine;
  CHECK(engine.run(made, {}).ns == 15);
  CHECK(engine.ranks()[0].busy.ns == 3);
  CHECK(engine.ranks()[0].finish.ns == 15);
}

TEST_CASE("barriers of different ranks do not hold each other up") {
  // Ranks 0 and 1 meet at 2, ranks 2 and 3 at 9, and all four at max(2 + 4, 9) = 9.
  Programs made;
  const std::uint32_t front = made.add_barrier(2);
  const std::uint32_t back = made.add_barrier(2);
  const std::uint32_t all = made.add_barrier(4);
  const std::array<std::int64_t, 4> work_ns{1, 2, 9, 1};
  for (std::size_t rank = 0; rank < 4; ++rank) {
    made.add_rank();
    made.run({work_ns[rank]});
    made.wait(rank < 2 ? front : back);
    if (rank < 2) made.run({4});
    made.wait(all);
  }
  CHECK(Engine{}.run(made, {}).ns == 9);
}

TEST_CASE("ranks with nothing to do are done at the start") {
  Programs made;
  Engine engine;
  CHECK(engine.run(made, {42}).ns == 42);
  made.add_rank();
  CHECK(engine.run(made, {42}).ns == 42);
  CHECK(engine.ranks()[0].finish.ns == 42);
}

TEST_CASE("a step is no shorter than any rank's work, nor than a fair share of all work") {
  std::mt19937 generator(1);
  for (int i = 0; i < 1000; ++i) {
    const Ranks ranks = random_ranks(generator);
    for (const Barrier barrier : kBarriers) {
      const SimTime took = step(ranks, barrier);
      SimTime work;
      for (const auto& rank : ranks) {
        REQUIRE(took >= sum(rank));
        work += sum(rank);
      }
      REQUIRE(took.ns * static_cast<std::int64_t>(ranks.size()) >= work.ns);
    }
  }
}

TEST_CASE("meeting at every micro-batch is never faster than meeting once") {
  std::mt19937 generator(2);
  for (int i = 0; i < 1000; ++i) {
    const Ranks ranks = random_ranks(generator);
    REQUIRE(step(ranks, Barrier::micro_batch) >= step(ranks, Barrier::iteration));
  }
}

TEST_CASE("a longer micro-batch never ends the step earlier, nor later than by what it grew") {
  std::mt19937 generator(3);
  for (int i = 0; i < 1000; ++i) {
    Ranks ranks = random_ranks(generator);
    auto& rank = ranks[static_cast<std::size_t>(draw(generator, 0, static_cast<int>(ranks.size()) - 1))];
    if (rank.empty()) continue;
    const SimTime growth{draw(generator, 1, 1000)};
    const SimTime once = step(ranks, Barrier::iteration);
    const SimTime each = step(ranks, Barrier::micro_batch);
    rank[static_cast<std::size_t>(draw(generator, 0, static_cast<int>(rank.size()) - 1))] += growth;
    REQUIRE(step(ranks, Barrier::iteration) >= once);
    REQUIRE(step(ranks, Barrier::iteration) <= once + growth);
    REQUIRE(step(ranks, Barrier::micro_batch) >= each);
    REQUIRE(step(ranks, Barrier::micro_batch) <= each + growth);
  }
}

TEST_CASE("k times the durations take k times as long") {
  std::mt19937 generator(4);
  for (int i = 0; i < 1000; ++i) {
    const Ranks ranks = random_ranks(generator);
    const int k = draw(generator, 0, 1000);
    Ranks scaled = ranks;
    for (auto& rank : scaled) {
      for (SimTime& duration : rank) duration.ns *= k;
    }
    for (const Barrier barrier : kBarriers) REQUIRE(step(scaled, barrier).ns == k * step(ranks, barrier).ns);
  }
}

TEST_CASE("which rank is which changes neither the step nor what each does") {
  std::mt19937 generator(5);
  for (int i = 0; i < 1000; ++i) {
    const Ranks ranks = random_ranks(generator);
    Ranks turned = ranks;
    const auto by = static_cast<std::size_t>(draw(generator, 0, static_cast<int>(ranks.size()) - 1));
    std::ranges::rotate(turned, turned.begin() + static_cast<std::ptrdiff_t>(by));
    for (const Barrier barrier : kBarriers) {
      Engine first;
      Engine second;
      REQUIRE(first.run(programs(ranks, barrier), {}) == second.run(programs(turned, barrier), {}));
      REQUIRE(first.n_events() == second.n_events());
      for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        const RankTimes& same = first.ranks()[(rank + by) % ranks.size()];
        REQUIRE(second.ranks()[rank].busy == same.busy);
        REQUIRE(second.ranks()[rank].finish == same.finish);
      }
    }
  }
}

TEST_CASE("a run does not depend on what the engine ran before") {
  std::mt19937 generator(6);
  Engine used;
  for (int i = 0; i < 1000; ++i) {
    const Programs made = programs(random_ranks(generator), kBarriers[static_cast<std::size_t>(i % 2)]);
    Engine fresh;
    REQUIRE(used.run(made, {}) == fresh.run(made, {}));
    REQUIRE(used.n_events() == fresh.n_events());
    REQUIRE(used.ranks().size() == fresh.ranks().size());
  }
}

TEST_CASE("a barrier that never fills is named, with the ranks that wait") {
  // Rank 1 of three never comes to barrier 1.
  Programs made;
  made.add_barrier(3);
  made.add_barrier(3);
  for (int rank = 0; rank < 3; ++rank) {
    made.add_rank();
    made.run({rank});
    made.wait(0);
    if (rank != 1) made.wait(1);
  }
  Engine engine;
  CHECK_THROWS_AS(engine.run(made, {}), std::logic_error);
  CHECK_THROWS_WITH(engine.run(made, {}), "deadlock: barrier 1 has 2 of 3 ranks (0, 2)");
}

TEST_CASE("ranks that wait for each other crosswise are all named") {
  Programs made;
  made.add_barrier(2);
  made.add_barrier(2);
  made.add_rank();
  made.wait(0);
  made.wait(1);
  made.add_rank();
  made.wait(1);
  made.wait(0);
  CHECK_THROWS_WITH(Engine{}.run(made, {}),
                    "deadlock: barrier 0 has 1 of 2 ranks (0); barrier 1 has 1 of 2 ranks (1)");
}

TEST_CASE("a rank too many at a barrier is named") {
  Programs made;
  made.add_barrier(1);
  for (int rank = 0; rank < 2; ++rank) {
    made.add_rank();
    made.wait(0);
  }
  CHECK_THROWS_WITH(Engine{}.run(made, {}), "barrier 0: rank 1 comes after all 1 ranks that it is for");
}

TEST_CASE("a barrier that is not there is named") {
  Programs made;
  made.add_rank();
  made.wait(0);
  CHECK_THROWS_WITH(Engine{}.run(made, {}), "rank 0 waits at barrier 0, expected one below 0");
}

TEST_CASE("an engine whose run failed can run again") {
  Programs stuck;
  stuck.add_barrier(2);
  stuck.add_rank();
  stuck.wait(0);
  Engine engine;
  CHECK_THROWS_AS(engine.run(stuck, {}), std::logic_error);
  CHECK(engine.run(programs({{{5}}, {{7}}}, Barrier::iteration), {}).ns == 7);
}

TEST_CASE("a run past the end of time is refused") {
  Programs made;
  made.add_rank();
  made.run({2});
  CHECK_THROWS_AS(Engine{}.run(made, {std::numeric_limits<std::int64_t>::max() - 1}), std::logic_error);
}

}  // namespace
}  // namespace packsim
