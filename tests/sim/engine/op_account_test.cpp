#include "sim/engine/op_account.hpp"

#include <array>
#include <catch2/catch.hpp>

#include "rank_streams.hpp"

namespace packsim {
namespace {

SimTime of(const TimeByCause& times, Cause cause) {
  return times[static_cast<std::size_t>(cause)];
}

OpAccount account(const OpGraph& graph, double slow_down = 1, SimTime start = {}) {
  OpEngine engine;
  engine.run(graph, nullptr, {slow_down}, start);
  OpAccount taken;
  take_account(graph, engine, taken);
  return taken;
}

TEST_CASE("a transfer is exposed from where computation has to wait for it, and waiting for others is idle") {
  // Rank 0 computes 0..10 and 60..65, rank 1 computes 0..40. Both gather 40..60, which rank 0's second
  // computation waits for: 10..40 is idle, 40..60 exposed. Rank 1 is exposed for 20 at the end, then idle.
  OpGraph graph;
  const std::array<Rank, 2> ranks{add_rank(graph, 0), add_rank(graph, 1)};
  const CollectiveId gather = graph.add_collective({20});
  const OpId first = graph.add_op(ranks[0].compute, {10}, Cause::linear);
  const OpId long_one = graph.add_op(ranks[1].compute, {40}, Cause::attention);
  const OpId gathered = graph.join(ranks[0].links, gather, Cause::states, std::array{first});
  graph.join(ranks[1].links, gather, Cause::tensor, std::array{long_one});
  graph.add_op(ranks[0].compute, {5}, Cause::linear, std::array{gathered});

  const OpAccount taken = account(graph, 1, {1000});
  CHECK(of(taken.ranks[0].busy, Cause::linear).ns == 15);
  CHECK(of(taken.ranks[0].exposed, Cause::states).ns == 20);
  CHECK(taken.ranks[0].idle.ns == 30);
  CHECK(of(taken.ranks[1].busy, Cause::attention).ns == 40);
  CHECK(of(taken.ranks[1].exposed, Cause::tensor).ns == 20);
  CHECK(taken.ranks[1].idle.ns == 5);
}

TEST_CASE("a transfer that computation hides is not exposed") {
  // The transfer runs 10..40 beside computation 10..50.
  OpGraph graph;
  const Rank rank = add_rank(graph, 0);
  const OpId first = graph.add_op(rank.compute, {10}, Cause::linear);
  const OpId sent = graph.join(rank.links, graph.add_collective({30}), Cause::states, std::array{first});
  graph.add_op(rank.compute, {40}, Cause::linear);
  graph.add_op(rank.compute, {1}, Cause::linear, std::array{sent});
  const OpAccount taken = account(graph);
  CHECK(of(taken.ranks[0].busy, Cause::linear).ns == 51);
  CHECK(of(taken.ranks[0].exposed, Cause::states).ns == 0);
  CHECK(taken.ranks[0].idle.ns == 0);
}

TEST_CASE("a collective on the compute stream itself is idle until all have come, then exposed") {
  OpGraph graph;
  const std::array<Rank, 2> ranks{add_rank(graph, 0), add_rank(graph, 1)};
  const CollectiveId collective = graph.add_collective({7});
  graph.add_op(ranks[1].compute, {5}, Cause::linear);
  for (const Rank& rank : ranks) graph.join(rank.compute, collective, Cause::tensor);
  const OpAccount taken = account(graph, 2);
  CHECK(taken.ranks[0].idle.ns == 5);
  CHECK(of(taken.ranks[0].exposed, Cause::tensor).ns == 7);
  CHECK(taken.ranks[1].idle.ns == 0);
  CHECK(of(taken.ranks[1].exposed, Cause::tensor).ns == 7);
}

TEST_CASE("behind each other on a stream, all transfers that hold computation up are exposed, by cause") {
  // Computation 0..4; transfers 0..10 (tensor), 10..30 (states) and a local copy 30..36 (overhead) that the
  // next computation waits for: 6 of the first, and all of the others.
  OpGraph graph;
  const Rank rank = add_rank(graph, 0);
  graph.add_op(rank.compute, {4}, Cause::linear);
  graph.join(rank.links, graph.add_collective({10}), Cause::tensor);
  graph.join(rank.links, graph.add_collective({20}), Cause::states);
  const OpId copied = graph.add_op(rank.links, {6}, Cause::overhead);
  graph.add_op(rank.compute, {1}, Cause::linear, std::array{copied});
  const OpAccount taken = account(graph);
  CHECK(of(taken.ranks[0].exposed, Cause::tensor).ns == 6);
  CHECK(of(taken.ranks[0].exposed, Cause::states).ns == 20);
  CHECK(of(taken.ranks[0].exposed, Cause::overhead).ns == 6);
  CHECK(taken.ranks[0].idle.ns == 0);
}

TEST_CASE("waiting for another rank's computation is idle, for the transfer behind it exposed") {
  // A pipeline of two stages: stage 0 computes 0..30 and sends 30..35, stage 1 computes 35..55.
  OpGraph graph;
  const std::array<Rank, 2> stages{add_rank(graph, 0), add_rank(graph, 1)};
  const OpId computed = graph.add_op(stages[0].compute, {30}, Cause::linear);
  const OpId sent = graph.add_op(stages[0].links, {5}, Cause::pipeline, std::array{computed});
  graph.add_op(stages[1].compute, {20}, Cause::linear, std::array{sent});
  const OpAccount taken = account(graph);
  CHECK(of(taken.ranks[1].exposed, Cause::pipeline).ns == 5);
  CHECK(taken.ranks[1].idle.ns == 30);
  CHECK(of(taken.ranks[0].exposed, Cause::pipeline).ns == 5);  // its own last communication
  CHECK(taken.ranks[0].idle.ns == 20);
}

TEST_CASE("of several that end together, the first named is waited for") {
  for (const bool swapped : {false, true}) {
    OpGraph graph;
    const Rank rank = add_rank(graph, 0);
    const StreamId more_links = graph.add_stream(0, StreamKind::communication);
    const OpId a = graph.join(rank.links, graph.add_collective({10}), Cause::states);
    const OpId b = graph.join(more_links, graph.add_collective({10}), Cause::tensor);
    graph.add_op(rank.compute, {1}, Cause::linear, swapped ? std::array{b, a} : std::array{a, b});
    const OpAccount taken = account(graph);
    CHECK(of(taken.ranks[0].exposed, Cause::states).ns == (swapped ? 0 : 10));
    CHECK(of(taken.ranks[0].exposed, Cause::tensor).ns == (swapped ? 10 : 0));
  }
}

TEST_CASE("slowed computation is busy for as long as it takes") {
  // 100 with 30 of slow-down 1.5: 110.
  OpGraph graph;
  const Rank rank = add_rank(graph, 0);
  graph.add_op(rank.compute, {100}, Cause::linear);
  graph.join(rank.links, graph.add_collective({30}), Cause::states);
  const OpAccount taken = account(graph, 1.5);
  CHECK(of(taken.ranks[0].busy, Cause::linear).ns == 110);
  CHECK(of(taken.ranks[0].exposed, Cause::states).ns == 0);
}

TEST_CASE("ranks without a compute stream and streams without operations have an account") {
  OpGraph graph;
  graph.add_stream(0, StreamKind::compute);
  graph.join(graph.add_stream(1, StreamKind::communication), graph.add_collective({9}), Cause::states);
  OpAccount taken = account(graph);
  CHECK(taken.ranks[0].idle.ns == 9);
  CHECK(of(taken.ranks[1].exposed, Cause::states).ns == 9);

  // The next account takes nothing over from the last.
  OpEngine engine;
  graph.clear();
  graph.add_op(graph.add_stream(0, StreamKind::compute), {5}, Cause::linear);
  engine.run(graph, nullptr, {}, {});
  take_account(graph, engine, taken);
  CHECK(taken.ranks.size() == 1);
  CHECK(taken.ranks[0].idle.ns == 0);
}

}  // namespace
}  // namespace packsim
