#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <vector>

#include "rank_streams.hpp"
#include "sim/engine/op_engine.hpp"

namespace packsim {
namespace {

// A rank that computes for 100 ns, waits for another until 300, and then for its host.
struct LateRank {
  OpGraph graph;
  Rank rank = add_rank(graph, 0);
  OpEngine engine;

  LateRank() {
    const OpId other = graph.add_op(add_rank(graph, 1).compute, {300}, Cause::linear);
    graph.add_op(rank.compute, {100}, Cause::linear);
    graph.add_op(rank.compute, {10}, Cause::linear, std::array{other});  // 300..310
  }
  std::int64_t end() { return engine.run(graph, nullptr, {}, {}).ns; }
};

TEST_CASE("A host gets ahead while its GPU waits for others, and what it gains is spent once") {
  // Of 200 ns of waiting, the first wait saves its 150 and the second 50 of its 80: 310 + 0 + 5 + 30 + 5.
  LateRank late;
  late.graph.add_launch_wait(late.rank.compute, {150}, {110}, {1000});
  late.graph.add_op(late.rank.compute, {5}, Cause::linear);
  late.graph.add_launch_wait(late.rank.compute, {80}, {110 + 150 + 5}, {1000});
  late.graph.add_op(late.rank.compute, {5}, Cause::linear);
  CHECK(late.end() == 350);
  CHECK(late.end() == 350);  // a run leaves nothing behind
}

TEST_CASE("A host is never further ahead than its queue reaches") {
  // The queue is full 120 ns ahead; the other 80 are lost: 310 + 30 + 5 + 80 + 5.
  LateRank late;
  late.graph.add_launch_wait(late.rank.compute, {150}, {110}, {120});
  late.graph.add_op(late.rank.compute, {5}, Cause::linear);
  late.graph.add_launch_wait(late.rank.compute, {80}, {110 + 150 + 5}, {120});
  late.graph.add_op(late.rank.compute, {5}, Cause::linear);
  CHECK(late.end() == 430);
}

TEST_CASE("A host that has read a value is ahead of nothing") {
  LateRank late;
  late.graph.add_launch_wait(late.rank.compute, {}, {110}, {});
  late.graph.add_launch_wait(late.rank.compute, {150}, {110}, {1000});
  CHECK(late.end() == 310 + 150);
}

TEST_CASE("An exchange of the rank's own is work, and lets no host get ahead") {
  // 40 of the 200 ns of waiting are the rank's own.
  LateRank late;
  late.graph.add_launch_wait(late.rank.compute, {190}, {110 + 40}, {1000});
  CHECK(late.end() == 310 + 30);
}

TEST_CASE("A graph refuses a wait for launches of less than nothing") {
  LateRank late;
  CHECK_THROWS_WITH(late.graph.add_launch_wait(late.rank.compute, {-1}, {0}, {0}),
                    "duration of a wait for launches: expected 0 ns or more, got -1");
  CHECK_THROWS_WITH(late.graph.add_launch_wait(late.rank.compute, {0}, {-1}, {0}),
                    "work before a wait for launches: expected 0 ns or more, got -1");
  CHECK_THROWS_WITH(late.graph.add_launch_wait(late.rank.compute, {0}, {0}, {-1}),
                    "how far a host can be ahead: expected 0 ns or more, got -1");
  CHECK(late.graph.launch_waits().empty());
}

struct Phase {
  std::int64_t run_ns = 0;
  std::int64_t launched_ns = 0;
  std::int64_t others_at_ns = 0;  // when the others come that it waits for
};

// A host that launches phase after phase beside a GPU that runs them, one after the other.
std::vector<std::int64_t> ends_by_hand(const std::vector<Phase>& phases, bool waits_for_others) {
  std::vector<std::int64_t> ends_ns;
  std::int64_t host_ns = 0;
  std::int64_t gpu_ns = 0;
  for (const Phase& phase : phases) {
    host_ns += phase.launched_ns;
    if (waits_for_others) gpu_ns = std::max(gpu_ns, phase.others_at_ns);
    gpu_ns = std::max(gpu_ns + phase.run_ns, host_ns);
    ends_ns.push_back(gpu_ns);
  }
  return ends_ns;
}

TEST_CASE("Waits that shrink end as a host and a GPU do that are walked one phase after another") {
  std::mt19937 generator(4);
  const auto below = [&](unsigned n) { return static_cast<std::int64_t>(generator() % n); };
  std::int64_t n_shorter = 0;
  for (int turn = 0; turn < 500; ++turn) {
    std::vector<Phase> phases;
    std::int64_t others_ns = 0;
    for (std::int64_t n = 1 + below(12); n > 0; --n) {
      others_ns += below(4) == 0 ? below(120) : 0;
      phases.push_back({.run_ns = below(50), .launched_ns = below(60), .others_at_ns = others_ns});
    }
    const std::vector<std::int64_t> alone_ns = ends_by_hand(phases, false);
    OpGraph graph;
    const StreamId compute = add_rank(graph, 0).compute;
    const StreamId other = add_rank(graph, 1).compute;
    std::int64_t work_ns = 0;
    std::int64_t come_ns = 0;
    std::int64_t unshortened_ns = 0;
    for (std::size_t i = 0; i < phases.size(); ++i) {
      const OpId come = graph.add_op(other, {phases[i].others_at_ns - come_ns}, Cause::linear);
      come_ns = phases[i].others_at_ns;
      const std::int64_t wait_ns = alone_ns[i] - work_ns - phases[i].run_ns;
      graph.add_launch_wait(compute, {wait_ns}, {work_ns}, {1'000'000}, std::array{come});
      graph.add_op(compute, {phases[i].run_ns}, Cause::linear);
      work_ns = alone_ns[i];
      unshortened_ns = std::max(unshortened_ns, come_ns) + wait_ns + phases[i].run_ns;
    }
    const std::int64_t expected_ns = ends_by_hand(phases, true).back();
    CAPTURE(turn);
    OpEngine engine;
    engine.run(graph, nullptr, {}, {});
    CHECK(engine.end(graph.streams()[compute].last).ns == expected_ns);
    n_shorter += expected_ns < unshortened_ns ? 1 : 0;
  }
  CHECK(n_shorter > 50);
}

}  // namespace
}  // namespace packsim
