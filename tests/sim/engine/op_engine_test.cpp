#include "sim/engine/op_engine.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <limits>
#include <stdexcept>

#include "rank_streams.hpp"
#include "sim/engine/op_trace.hpp"
#include "tests/sim/engine/run_graph.hpp"

namespace packsim {
namespace {

constexpr std::int64_t kMaxNs = std::numeric_limits<std::int64_t>::max();

TEST_CASE("an operation starts when its stream and all that it waits for are through") {
  // From 100: a 100..105 and b 105..108 on one stream; c 100..120 on another; d waits for both: 120..121.
  OpGraph graph;
  const Rank rank = add_rank(graph, 0);
  const OpId a = graph.add_op(rank.compute, {5}, Cause::linear);
  const OpId b = graph.add_op(rank.compute, {3}, Cause::linear);
  const OpId c = graph.add_op(rank.links, {20}, Cause::states);
  const OpId d = graph.add_op(rank.compute, {1}, Cause::linear, std::array{c});
  OpEngine engine;
  CHECK(engine.run(graph, nullptr, {}, {100}).ns == 121);
  CHECK(engine.end(a).ns == 105);
  CHECK(engine.start(b).ns == 105);
  CHECK(engine.end(c).ns == 120);
  CHECK(engine.start(d).ns == 120);
  CHECK(engine.run_start().ns == 100);
  CHECK(engine.run_end().ns == 121);
  CHECK(engine.n_events() == 4);
}

TEST_CASE("a collective starts with its last participant, holds the streams, and ends for all at once") {
  // Rank 0 comes at 3 and rank 1 at 8: 8..18. What is behind it on rank 0's stream starts at 18.
  OpGraph graph;
  const std::array<Rank, 2> ranks{add_rank(graph, 0), add_rank(graph, 1)};
  const CollectiveId collective = graph.add_collective({10});
  const OpId early = graph.add_op(ranks[0].compute, {3}, Cause::linear);
  const OpId late = graph.add_op(ranks[1].compute, {8}, Cause::linear);
  const OpId first = graph.join(ranks[0].links, collective, Cause::states, std::array{early});
  const OpId second = graph.join(ranks[1].links, collective, Cause::states, std::array{late});
  const OpId behind = graph.add_op(ranks[0].links, {1}, Cause::states);
  OpEngine engine;
  CHECK(engine.run(graph, nullptr, {}, {}).ns == 19);
  CHECK(engine.start(first).ns == 3);
  CHECK(engine.start(second).ns == 8);
  CHECK(engine.collective_start(collective).ns == 8);
  CHECK(engine.end(first).ns == 18);
  CHECK(engine.end(second).ns == 18);
  CHECK(engine.start(behind).ns == 18);
  CHECK(engine.n_events() == 5 + 1);  // operations that end, collectives that start
}

TEST_CASE("an empty graph, an empty stream and a collective that nobody joins take no time") {
  OpGraph graph;
  CHECK(OpEngine{}.run(graph, nullptr, {}, {7}).ns == 7);
  add_rank(graph, 0);
  graph.add_collective({100});
  CHECK(OpEngine{}.run(graph, nullptr, {}, {7}).ns == 7);
  CHECK(OpEngine{}.run(graph, nullptr, {2}, {7}).ns == 7);
}

TEST_CASE("computation slows down while its own rank's collectives run, and only then") {
  // Slow-down 1.5. Rank 0 computes 100 from 0 on. It waits in the collective from 0, which runs 30..60 and
  // does 20 of the work: 100 + 30 - 20 = 110. Rank 1 comes at 30 and computes 50 behind that: 30..60 does 20,
  // and 30 are left: 90. Rank 2 takes no part: 100.
  OpGraph graph;
  const std::array<Rank, 3> ranks{add_rank(graph, 0), add_rank(graph, 1), add_rank(graph, 2)};
  const OpId slowed = graph.add_op(ranks[0].compute, {100}, Cause::linear);
  const OpId before = graph.add_op(ranks[1].compute, {30}, Cause::linear);
  const OpId behind = graph.add_op(ranks[1].compute, {50}, Cause::linear);
  const OpId apart = graph.add_op(ranks[2].compute, {100}, Cause::linear);
  const CollectiveId collective = graph.add_collective({30});
  graph.join(ranks[0].links, collective, Cause::states);
  graph.join(ranks[1].links, collective, Cause::states, std::array{before});
  OpEngine engine;
  engine.run(graph, nullptr, {1.5}, {});
  CHECK(engine.end(slowed).ns == 110);
  CHECK(engine.end(before).ns == 30);
  CHECK(engine.end(behind).ns == 90);
  CHECK(engine.end(apart).ns == 100);
}

TEST_CASE("two collectives at once slow down no more than one") {
  // 0..40 and 20..60 are 60 of slow-down 2, which do 30 of 100: 60 + 70.
  OpGraph graph;
  const Rank rank = add_rank(graph, 0);
  const StreamId more_links = graph.add_stream(0, StreamKind::communication);
  graph.add_op(rank.compute, {100}, Cause::linear);
  graph.join(rank.links, graph.add_collective({40}), Cause::states);
  graph.add_op(more_links, {20}, Cause::overhead);
  graph.join(more_links, graph.add_collective({40}), Cause::tensor);
  CHECK(run(graph, 2).ns == 130);
}

TEST_CASE("neither local operations, nor waiting, nor collectives without a duration slow down") {
  OpGraph graph;
  const std::array<Rank, 2> ranks{add_rank(graph, 0), add_rank(graph, 1)};
  const OpId computed = graph.add_op(ranks[0].compute, {50}, Cause::linear);
  graph.add_op(ranks[0].links, {10}, Cause::states);
  graph.join(ranks[0].links, graph.add_collective({0}), Cause::states);
  const CollectiveId collective = graph.add_collective({20});
  graph.join(ranks[0].links, collective, Cause::states);
  const OpId late = graph.add_op(ranks[1].compute, {50}, Cause::linear);
  graph.join(ranks[1].links, collective, Cause::states, std::array{late});
  OpEngine engine;
  CHECK(engine.run(graph, nullptr, {3}, {}).ns == 70);
  CHECK(engine.end(computed).ns == 50);
}

TEST_CASE("what is left of slowed computation is kept exactly, however often the speed changes") {
  // Slow-down 3, in thirds of a nanosecond's work: 1 ns of communication does 1, the 1 ns behind it does 3.
  // Of 450, 112 such pairs do 448 by 224; 1 more by 225, and the last one by 226.
  OpGraph graph;
  const Rank rank = add_rank(graph, 0);
  graph.add_op(rank.compute, {150}, Cause::linear);
  for (int i = 0; i < 200; ++i) {
    graph.join(rank.links, graph.add_collective({1}), Cause::states);
    graph.add_op(rank.links, {1}, Cause::overhead);
  }
  OpEngine engine;
  CHECK(engine.run(graph, nullptr, {3}, {}).ns == 400);
  CHECK(engine.end(0).ns == 226);
}

TEST_CASE("a slow-down of 146 years' work is exact") {
  // 30 of communication do 20.
  OpGraph graph;
  const Rank rank = add_rank(graph, 0);
  graph.add_op(rank.compute, {kMaxNs / 2}, Cause::linear);
  graph.join(rank.links, graph.add_collective({30}), Cause::states);
  CHECK(run(graph, 1.5).ns == kMaxNs / 2 + 10);
}

TEST_CASE("time beyond 292 years is an error, and leaves the engine as good as new") {
  OpGraph small;
  small.add_op(add_rank(small, 0).compute, {5}, Cause::linear);

  OpGraph graph;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const Rank added = add_rank(graph, rank);
    graph.add_op(added.compute, {kMaxNs / 2}, Cause::linear);
    graph.join(added.links, graph.add_collective({kMaxNs - 1}), Cause::states);
  }
  OpEngine engine;
  // The others are about to start.
  CHECK_THROWS_WITH(engine.run(graph, nullptr, {1}, {kMaxNs / 2 + 2}), "simulated time is over 292 years");
  CHECK(engine.run(small, nullptr, {1}, {1}).ns == 6);
  // Slowed down by 3, the computation is too long.
  CHECK_THROWS_WITH(engine.run(graph, nullptr, {3}, {}), "simulated time is over 292 years");
  CHECK(engine.run(small, nullptr, {1}, {1}).ns == 6);
  CHECK_THROWS_WITH(engine.run(graph, nullptr, {3}, {}), "simulated time is over 292 years");
  CHECK(engine.run(small, nullptr, {3}, {1}).ns == 6);
}

TEST_CASE("a slow-down below 1, over 1000 or not a number is refused") {
  const OpGraph graph;
  for (const double slow_down : {0.999, 0.0, -1.0, 1000.1, std::numeric_limits<double>::quiet_NaN()}) {
    CHECK_THROWS_AS(run(graph, slow_down), std::invalid_argument);
  }
  CHECK_THROWS_WITH(run(graph, 0.5), "slow_down: expected 1 to 1000, got 0.500000");
  CHECK(run(graph, 1000).ns == 0);
}

TEST_CASE("streams that come to collectives in opposite order are named") {
  OpGraph graph;
  const std::array<Rank, 2> ranks{add_rank(graph, 0), add_rank(graph, 1)};
  const CollectiveId one = graph.add_collective({1});
  const CollectiveId other = graph.add_collective({1});
  graph.join(ranks[0].links, one, Cause::states);
  graph.join(ranks[0].links, other, Cause::tensor);
  graph.join(ranks[1].links, other, Cause::tensor);
  graph.join(ranks[1].links, one, Cause::states);
  for (const double slow_down : {1.0, 2.0}) {
    CHECK_THROWS_AS(run(graph, slow_down), std::logic_error);
    CHECK_THROWS_WITH(run(graph, slow_down),
                      "deadlock: 4 of 4 operations never end:"
                      " operation 0 (states, rank 0) waits in collective 0 for 1 of 2 participants;"
                      " operation 2 (tensor, rank 1) waits in collective 1 for 1 of 2 participants");
  }
}

TEST_CASE("a participant that waits for the collective's own end is missing from it") {
  OpGraph graph;
  const std::array<Rank, 2> ranks{add_rank(graph, 0), add_rank(graph, 1)};
  const CollectiveId collective = graph.add_collective({1}, std::array{LinkUse{0, 1.0}});
  graph.add_op(ranks[0].compute, {1}, Cause::linear);
  const OpId early = graph.join(ranks[0].links, collective, Cause::states);
  graph.join(ranks[1].links, collective, Cause::states, std::array{early});
  FlowNetwork network({1e9});
  CHECK_THROWS_WITH(OpEngine{}.run(graph, &network, {}, {}),
                    "deadlock: 2 of 3 operations never end:"
                    " operation 1 (states, rank 0) waits in collective 0 for 1 of 2 participants;"
                    " operation 2 (states, rank 1) waits for operation 1");
}

TEST_CASE("a stream that joins a collective twice waits for itself") {
  OpGraph graph;
  const Rank rank = add_rank(graph, 0);
  const CollectiveId collective = graph.add_collective({1});
  graph.join(rank.links, collective, Cause::states);
  graph.join(rank.links, collective, Cause::states);
  CHECK_THROWS_WITH(run(graph),
                    "deadlock: 2 of 2 operations never end:"
                    " operation 0 (states, rank 0) waits in collective 0 for 1 of 2 participants");
}

TEST_CASE("of many stuck streams 8 are named, and the engine runs on") {
  OpGraph graph;
  const CollectiveId collective = graph.add_collective({1});
  for (std::uint32_t rank = 0; rank < 10; ++rank)
    graph.join(add_rank(graph, rank).links, collective, Cause::states);
  graph.join(1, collective, Cause::states);
  OpEngine engine;
  CHECK_THROWS_WITH(
      engine.run(graph, nullptr, {}, {}),
      Catch::Contains("operation 7 (states, rank 7) waits in collective 0 for 1 of 11 participants;"
                      " and more") &&
          !Catch::Contains("operation 8"));
  graph.clear();
  graph.add_op(add_rank(graph, 0).compute, {5}, Cause::linear);
  CHECK(engine.run(graph, nullptr, {}, {}).ns == 5);
}

TEST_CASE("a trace has every operation, with its wait for others") {
  OpGraph graph;
  const std::array<Rank, 2> ranks{add_rank(graph, 0), add_rank(graph, 1)};
  const CollectiveId collective = graph.add_collective({10});
  graph.join(ranks[0].links, collective, Cause::states);
  const OpId late = graph.add_op(ranks[1].compute, {8}, Cause::attention);
  graph.join(ranks[1].links, collective, Cause::tensor, std::array{late});
  OpEngine engine;
  engine.run(graph, nullptr, {}, {100});
  std::vector<TracedOp> traced(1);
  trace(graph, engine, traced);
  REQUIRE(traced.size() == 1 + 3);
  CHECK(traced[1] == TracedOp{.rank = 0,
                              .stream = ranks[0].links,
                              .stream_kind = StreamKind::communication,
                              .cause = Cause::states,
                              .collective = collective,
                              .start = {100},
                              .transfer_start = {108},
                              .end = {118}});
  CHECK(traced[2] == TracedOp{.rank = 1,
                              .stream = ranks[1].compute,
                              .stream_kind = StreamKind::compute,
                              .cause = Cause::attention,
                              .collective = Op::kLocal,
                              .start = {100},
                              .transfer_start = {100},
                              .end = {108}});
  CHECK(traced[3].cause == Cause::tensor);
  CHECK(traced[3].start.ns == 108);
}

}  // namespace
}  // namespace packsim
