#include "sim/engine/op_graph.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <stdexcept>

#include "sim/engine/op_engine.hpp"
#include "tests/sim/engine/run_graph.hpp"

namespace packsim {
namespace {

std::vector<OpId> awaited_by(const OpGraph& graph, OpId op) {
  return {graph.after(op).begin(), graph.after(op).end()};
}

TEST_CASE("a graph gives back what was added") {
  OpGraph graph;
  const StreamId compute = graph.add_stream(1, StreamKind::compute);
  const StreamId links = graph.add_stream(1, StreamKind::communication);
  const OpId a = graph.add_op(compute, {5}, Cause::attention);
  const CollectiveId collective = graph.add_collective({7}, std::vector<LinkUse>{{2, 10.0}, {0, 20.0}});
  const OpId b = graph.join(links, collective, Cause::tensor, std::vector{a});
  const OpId c = graph.add_op(compute, {6}, Cause::linear, std::vector{b});

  CHECK(graph.n_ranks() == 2);
  CHECK(graph.compute_stream(0) == OpGraph::kNone);
  CHECK(graph.compute_stream(1) == compute);
  REQUIRE(graph.ops().size() == 3);
  CHECK(graph.ops()[a].is_local());
  CHECK(graph.ops()[a].duration.ns == 5);
  CHECK(graph.ops()[a].cause == Cause::attention);
  CHECK(graph.ops()[b].collective == collective);
  CHECK(graph.ops()[b].stream == links);
  CHECK(graph.collectives()[collective].n_ops == 1);
  CHECK(graph.collectives()[collective].alone.ns == 7);
  REQUIRE(graph.link_uses(collective).size() == 2);
  CHECK(graph.link_uses(collective)[1].bytes == 20.0);

  CHECK(graph.ops()[a].next == c);
  CHECK(graph.ops()[c].previous == a);
  CHECK(graph.ops()[c].next == OpGraph::kNone);
  CHECK(graph.ops()[b].previous == OpGraph::kNone);
  CHECK(awaited_by(graph, b) == std::vector{a});
  CHECK(awaited_by(graph, c) == std::vector{b});
}

TEST_CASE("to wait for one's own stream adds nothing to wait for") {
  OpGraph graph;
  const StreamId compute = graph.add_stream(0, StreamKind::compute);
  const StreamId links = graph.add_stream(0, StreamKind::communication);
  const OpId a = graph.add_op(compute, {1}, Cause::linear);
  const OpId b = graph.add_op(links, {1}, Cause::states);
  const OpId c = graph.add_op(compute, {1}, Cause::linear, std::vector{a, b});
  CHECK(awaited_by(graph, c) == std::vector{b});
}

TEST_CASE("an operation waits for all that it names, once or several times") {
  OpGraph graph;
  for (std::uint32_t rank = 0; rank < 4; ++rank) graph.add_stream(rank, StreamKind::compute);
  const OpId a = graph.add_op(0, {3}, Cause::linear);
  const OpId b = graph.add_op(1, {1}, Cause::linear, std::vector{a});
  const OpId c = graph.add_op(2, {1}, Cause::linear, std::vector{a, b, a});
  CHECK(awaited_by(graph, c) == std::vector{a, b, a});
  CHECK(run(graph).ns == 5);
}

TEST_CASE("a cleared graph is an empty one") {
  OpGraph graph;
  const auto fill = [&] {
    const StreamId compute = graph.add_stream(0, StreamKind::compute);
    graph.add_work(compute, {5}, Cause::linear);
    const CollectiveId collective = graph.add_collective({7}, std::vector<LinkUse>{{0, 1.0}});
    graph.join(graph.add_stream(0, StreamKind::communication), collective, Cause::states,
               std::vector{graph.last_op(compute)});
  };
  fill();
  graph.clear();
  CHECK(graph.n_ranks() == 0);
  CHECK(graph.streams().empty());
  CHECK(graph.ops().empty());
  CHECK(graph.collectives().empty());
  CHECK(graph.link_uses().empty());
  CHECK(run(graph).ns == 0);
  fill();
  CHECK(graph.collectives()[0].n_ops == 1);
  CHECK(run(graph).ns == 12);
}

TEST_CASE("what has not been added yet cannot be waited for, joined or used, and leaves no trace") {
  OpGraph graph;
  const StreamId compute = graph.add_stream(0, StreamKind::compute);
  const OpId a = graph.add_op(compute, {1}, Cause::linear);
  const CollectiveId collective = graph.add_collective({1});

  CHECK_THROWS_WITH(graph.add_op(compute, {1}, Cause::linear, std::vector<OpId>{a, 1}),
                    "operation to wait for 1: expected one below 1");
  CHECK_THROWS_WITH(graph.join(compute, collective, Cause::states, std::vector<OpId>{7}),
                    "operation to wait for 7: expected one below 1");
  CHECK_THROWS_WITH(graph.add_work(compute, {1}, Cause::linear, std::vector<OpId>{OpGraph::kNone}),
                    "operation to wait for 4294967295: expected one below 1");
  CHECK_THROWS_WITH(graph.join(compute, 1, Cause::states), "collective 1: expected one below 1");
  CHECK_THROWS_WITH(graph.add_op(1, {1}, Cause::linear), "stream 1: expected one below 1");
  CHECK_THROWS_WITH(graph.add_work(1, {1}, Cause::linear), "stream 1: expected one below 1");
  CHECK_THROWS_WITH(graph.last_op(1), "stream 1: expected one below 1");
  CHECK_THROWS_AS(graph.add_op(1, {1}, Cause::linear), std::invalid_argument);

  CHECK(graph.ops().size() == 1);
  CHECK(graph.collectives()[0].n_ops == 0);
  CHECK(run(graph).ns == 1);
}

TEST_CASE("times below 0, a second compute stream of a rank and ranks beyond all clusters are refused") {
  OpGraph graph;
  const StreamId compute = graph.add_stream(3, StreamKind::compute);
  CHECK_THROWS_WITH(graph.add_op(compute, {-1}, Cause::linear),
                    "duration of an operation: expected 0 ns or more, got -1");
  CHECK_THROWS_WITH(graph.add_work(compute, {-1}, Cause::linear),
                    "duration of an operation: expected 0 ns or more, got -1");
  CHECK_THROWS_WITH(graph.add_collective({-2}), "duration of a collective: expected 0 ns or more, got -2");
  CHECK_THROWS_WITH(graph.add_stream(3, StreamKind::compute), "rank 3 has a compute stream already");
  CHECK_THROWS_WITH(graph.add_stream(1U << 20, StreamKind::compute),
                    "rank 1048576: expected one below 1048576");
  CHECK_NOTHROW(graph.add_stream(3, StreamKind::communication));
}

TEST_CASE("work of one cause grows into one operation") {
  OpGraph graph;
  const StreamId stream = graph.add_stream(0, StreamKind::compute);
  graph.add_work(stream, {3}, Cause::linear);
  graph.add_work(stream, {4}, Cause::linear);
  graph.add_work(stream, {5}, Cause::attention);
  graph.add_work(stream, {6}, Cause::linear);
  REQUIRE(graph.ops().size() == 3);
  CHECK(graph.ops()[0].duration.ns == 7);
  CHECK(graph.ops()[1].duration.ns == 5);
  CHECK(graph.ops()[2].duration.ns == 6);
}

TEST_CASE("work behind something to wait for is an operation of its own, which may grow") {
  OpGraph graph;
  const StreamId stream = graph.add_stream(0, StreamKind::compute);
  const StreamId other = graph.add_stream(1, StreamKind::compute);
  const OpId before = graph.add_op(other, {9}, Cause::linear);
  graph.add_work(stream, {3}, Cause::linear);
  graph.add_work(stream, {4}, Cause::linear, std::vector{before});
  graph.add_work(stream, {5}, Cause::linear);
  REQUIRE(graph.ops().size() == 3);
  CHECK(graph.ops()[2].duration.ns == 9);
  CHECK(run(graph).ns == 18);
}

TEST_CASE("an operation that somebody has the id of does not grow") {
  OpGraph graph;
  const StreamId stream = graph.add_stream(0, StreamKind::compute);
  const StreamId other = graph.add_stream(1, StreamKind::compute);
  CHECK(graph.last_op(stream) == OpGraph::kNone);
  graph.add_work(stream, {3}, Cause::linear);
  const OpId after_3 = graph.last_op(stream);
  graph.add_work(stream, {4}, Cause::linear);
  const OpId added = graph.add_op(stream, {5}, Cause::linear);
  graph.add_work(stream, {6}, Cause::linear);
  graph.join(stream, graph.add_collective({7}), Cause::linear);
  graph.add_work(stream, {8}, Cause::linear);
  REQUIRE(graph.ops().size() == 6);
  CHECK(graph.ops()[after_3].duration.ns == 3);
  CHECK(graph.ops()[added].duration.ns == 5);

  const OpId waits = graph.add_op(other, {1}, Cause::linear, std::vector{after_3});
  OpEngine engine;
  CHECK(engine.run(graph, nullptr, {}, {}).ns == 3 + 4 + 5 + 6 + 7 + 8);
  CHECK(engine.start(waits).ns == 3);
}

TEST_CASE("without merging, all work is operations of its own, and ends at the same time") {
  const auto fill = [](OpGraph& graph) {
    const StreamId stream = graph.add_stream(0, StreamKind::compute);
    const StreamId links = graph.add_stream(0, StreamKind::communication);
    for (int i = 0; i < 5; ++i) {
      graph.add_work(stream, {10 + i}, Cause::linear);
      graph.add_work(stream, {20 + i}, Cause::linear);
      graph.join(links, graph.add_collective({33}), Cause::states, std::vector{graph.last_op(stream)});
    }
  };
  OpGraph merged;
  OpGraph every(false);
  fill(merged);
  fill(every);
  CHECK(merged.ops().size() == 10);
  CHECK(every.ops().size() == 15);
  CHECK(run(merged) == run(every));
}

TEST_CASE("work that grows beyond 292 years stays as it was") {
  OpGraph graph;
  const StreamId stream = graph.add_stream(0, StreamKind::compute);
  graph.add_work(stream, {std::numeric_limits<std::int64_t>::max()}, Cause::linear);
  CHECK_THROWS_AS(graph.add_work(stream, {1}, Cause::linear), std::logic_error);
  CHECK(graph.ops()[0].duration.ns == std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace packsim
