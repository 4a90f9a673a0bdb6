// Graphs whose time can be told with pencil and paper, to the nanosecond.

#include "tests/sim/closed_forms/op_closed_forms.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <optional>

#include "sim/engine/op_engine.hpp"
#include "tests/sim/engine/run_graph.hpp"

namespace packsim {
namespace {

TEST_CASE("a ring all-reduce of single sends takes 2 (n - 1) of them") {
  for (const std::uint32_t n_ranks : {1U, 2U, 3U, 8U, 17U}) {
    OpGraph graph;
    for (std::uint32_t rank = 0; rank < n_ranks; ++rank) graph.add_stream(rank, StreamKind::communication);
    const SimTime chunk{1234};
    std::vector<OpId> received;  // [n_ranks], in the step before
    for (std::uint32_t step = 0; step < 2 * (n_ranks - 1); ++step) {
      std::vector<OpId> sent;
      for (std::uint32_t rank = 0; rank < n_ranks; ++rank) {
        const std::vector<OpId> after = received.empty() ? received : std::vector{received[rank]};
        sent.push_back(graph.add_op(rank, chunk, Cause::states, after));
      }
      std::ranges::rotate(sent, sent.end() - 1);  // rank r receives from r - 1
      received = sent;
    }
    CHECK(run(graph) == ring_all_reduce_time(n_ranks, chunk));
  }
}

TEST_CASE("down a binary tree it takes two sends a level") {
  for (const std::uint32_t n_levels : {1U, 2U, 5U, 9U}) {
    const std::uint32_t n_nodes = (1U << n_levels) - 1;
    OpGraph graph;
    std::vector<std::vector<OpId>> received(n_nodes + 1);  // node i sends to 2 i and 2 i + 1
    for (std::uint32_t node = 1; node <= n_nodes; ++node)
      graph.add_stream(node - 1, StreamKind::communication);
    for (std::uint32_t child = 2; child <= n_nodes; ++child) {
      received[child] = {graph.add_op(child / 2 - 1, {70}, Cause::states, received[child / 2])};
    }
    CHECK(run(graph) == binary_tree_time(n_levels, {70}));
  }
}

TEST_CASE("a direct all-to-all over one link out of and one into every rank takes n - 1 messages' time") {
  for (const std::uint32_t n_ranks : {2U, 3U, 8U}) {
    OpGraph graph;
    const double message_bytes = 1000;  // 1000 ns at 1e9 bytes/s
    for (std::uint32_t from = 0; from < n_ranks; ++from) {
      for (std::uint32_t to = 0; to < n_ranks; ++to) {
        if (from == to) continue;
        const std::array uses{LinkUse{from, message_bytes}, LinkUse{n_ranks + to, message_bytes}};
        graph.join(graph.add_stream(from, StreamKind::communication), graph.add_collective({1000}, uses),
                   Cause::sequence);
      }
    }
    FlowNetwork network(std::vector<double>(std::size_t{2} * n_ranks, 1e9));
    CHECK(OpEngine{}.run(graph, &network, {}, {}) == all_to_all_time(n_ranks, {1000}));
  }
}

struct Pipeline {
  std::int64_t stages;
  std::int64_t micro_batches;
  std::int64_t chunks;  // of layers, a stage
  SimTime forward;
  SimTime backward;
};

// A forward or backward pass of one chunk. Chunk c of stage s is the model's part c * stages + s.
struct Pass {
  bool forward;
  std::int64_t part;
  std::int64_t micro_batch;
};

// Megatron's order: warm-up forwards, then one forward and one backward in turn, then the other backwards;
// chunks take turns after as many micro-batches as there are stages.
std::vector<Pass> passes(const Pipeline& pipeline, std::int64_t stage) {
  const auto& [p, m, v, forward, backward] = pipeline;
  const std::int64_t n = m * v;
  const auto pass = [&](bool is_forward, std::int64_t i) {
    if (v == 1) return Pass{is_forward, stage, i};
    const std::int64_t turn = i % (p * v) / p;
    const std::int64_t chunk = is_forward ? turn : v - 1 - turn;
    return Pass{is_forward, chunk * p + stage, i / (p * v) * p + i % p};
  };
  const std::int64_t warm_up = std::min(n, v == 1 ? p - 1 - stage : 2 * (p - 1 - stage) + (v - 1) * p);
  std::vector<Pass> order;
  for (std::int64_t i = 0; i < warm_up; ++i) order.push_back(pass(true, i));
  for (std::int64_t i = warm_up; i < n; ++i) {
    order.push_back(pass(true, i));
    order.push_back(pass(false, i - warm_up));
  }
  for (std::int64_t i = n - warm_up; i < n; ++i) order.push_back(pass(false, i));
  return order;
}

// The parts' passes hand over without communication. Adds what can be, until all stages are done.
OpGraph build(const Pipeline& pipeline) {
  const std::int64_t n_parts = pipeline.stages * pipeline.chunks;
  OpGraph graph;
  std::vector<std::vector<Pass>> left;
  for (std::int64_t stage = 0; stage < pipeline.stages; ++stage) {
    graph.add_stream(static_cast<std::uint32_t>(stage), StreamKind::compute);
    left.push_back(passes(pipeline, stage));
    std::ranges::reverse(left.back());
  }
  std::vector<std::optional<OpId>> ops(static_cast<std::size_t>(2 * n_parts * pipeline.micro_batches));
  const auto op_of = [&](const Pass& pass) -> std::optional<OpId>& {
    const std::int64_t forwards = pass.forward ? 0 : n_parts;
    return ops[static_cast<std::size_t>((forwards + pass.part) * pipeline.micro_batches + pass.micro_batch)];
  };
  for (bool any = true; any;) {
    any = false;
    for (std::size_t stage = 0; stage < left.size(); ++stage) {
      while (!left[stage].empty()) {
        const Pass pass = left[stage].back();
        const bool first = pass.part == (pass.forward ? 0 : n_parts - 1);
        std::vector<OpId> after;
        if (!first) {
          const auto before = op_of({pass.forward, pass.part + (pass.forward ? -1 : 1), pass.micro_batch});
          if (!before) break;
          after.push_back(*before);
        }
        op_of(pass) = graph.add_op(static_cast<StreamId>(stage),
                                   pass.forward ? pipeline.forward : pipeline.backward, Cause::linear, after);
        left[stage].pop_back();
        any = true;
      }
    }
  }
  return graph;
}

TEST_CASE("1F1B takes (m + p - 1) (f + b)") {
  for (const std::int64_t stages : {1, 2, 4, 7}) {
    for (const std::int64_t micro_batches : {1, 3, 4, 16}) {
      const Pipeline pipeline{stages, micro_batches, 1, {100}, {230}};
      const OpGraph graph = build(pipeline);
      REQUIRE(graph.ops().size() == static_cast<std::size_t>(2 * stages * micro_batches));
      CAPTURE(stages, micro_batches);
      CHECK(run(graph) == pipeline_time(stages, micro_batches, 1, pipeline.forward, pipeline.backward));
    }
  }
}

TEST_CASE("interleaved with v chunks, the bubble shrinks to (p - 1) / v of a stage's micro-batch") {
  for (const std::int64_t stages : {2, 4}) {
    for (const std::int64_t chunks : {2, 3}) {
      for (const std::int64_t rounds : {1, 2, 4}) {
        const Pipeline pipeline{stages, stages * rounds, chunks, {100}, {200}};
        const OpGraph graph = build(pipeline);
        REQUIRE(graph.ops().size() == static_cast<std::size_t>(2 * stages * stages * rounds * chunks));
        CAPTURE(stages, chunks, rounds);
        CHECK(run(graph) ==
              pipeline_time(stages, stages * rounds, chunks, pipeline.forward, pipeline.backward));
      }
    }
  }
}

TEST_CASE("weights gathered one layer ahead: g + (L - 1) max(c, g) + c") {
  for (const std::int64_t compute_ns : {50, 100, 170}) {
    for (const int n_layers : {1, 2, 10}) {
      const SimTime gather{100};
      OpGraph graph;
      std::array<std::vector<OpId>, 2> computed;
      for (std::uint32_t rank = 0; rank < 2; ++rank) {
        graph.add_stream(rank, StreamKind::compute);
        graph.add_stream(rank, StreamKind::communication);
      }
      for (int layer = 0; layer < n_layers; ++layer) {
        const CollectiveId collective = graph.add_collective(gather);
        for (std::uint32_t rank = 0; rank < 2; ++rank) {
          auto& done = computed[rank];
          // No more than two layers' weights: as this one's come, the one before is computed.
          const std::vector<OpId> after =
              layer < 2 ? std::vector<OpId>{} : std::vector{done[done.size() - 2]};
          const OpId gathered = graph.join(2 * rank + 1, collective, Cause::states, after);
          done.push_back(graph.add_op(2 * rank, {compute_ns}, Cause::linear, std::array{gathered}));
        }
      }
      CAPTURE(compute_ns, n_layers);
      CHECK(run(graph) == prefetch_time(n_layers, gather, {compute_ns}));
    }
  }
}

TEST_CASE("transfers that start together share a link fairly") {
  const std::vector<std::vector<SimTime>> cases{{{1000}, {1000}},
                                                {{1000}, {400}},
                                                {{300}, {600}, {900}},
                                                {{100}, {1000}, {500}, {700}},
                                                {{7}, {7}, {5}}};
  for (const auto& alone : cases) {
    OpGraph graph;
    for (const SimTime one : alone) {
      const std::array uses{LinkUse{0, static_cast<double>(one.ns)}};  // 1 byte/ns
      graph.join(graph.add_stream(0, StreamKind::communication), graph.add_collective(one, uses),
                 Cause::states);
    }
    FlowNetwork network({1e9});
    OpEngine engine;
    engine.run(graph, &network, {}, {});
    const std::vector<SimTime> expected = shared_link_ends(alone);
    for (OpId op = 0; op < alone.size(); ++op) CHECK(engine.end(op) == expected[op]);
  }
}

TEST_CASE("a transfer that comes later shares from then on, and both slow the computation down") {
  // A alone 0..500, half done; A and B share: A ends at 1500, B has 500 left and ends at 2000. The rank
  // computes 1500 and is slowed down by 2 all the time until 2000, which does 1000: 2500.
  OpGraph graph;
  const StreamId compute = graph.add_stream(0, StreamKind::compute);
  const StreamId links = graph.add_stream(0, StreamKind::communication);
  const StreamId more_links = graph.add_stream(0, StreamKind::communication);
  const std::array uses{LinkUse{0, 1000.0}};
  const OpId computed = graph.add_op(compute, {1500}, Cause::linear);
  const OpId a = graph.join(links, graph.add_collective({1000}, uses), Cause::states);
  graph.add_op(more_links, {500}, Cause::overhead);
  const OpId b = graph.join(more_links, graph.add_collective({1000}, uses), Cause::states);
  FlowNetwork network({1e9});
  OpEngine engine;
  engine.run(graph, &network, {2}, {});
  CHECK(engine.end(a).ns == 1500);
  CHECK(engine.end(b).ns == 2000);
  CHECK(engine.end(computed).ns == 2500);
}

TEST_CASE("computation beside a transfer is slowed down for as long as that takes") {
  for (const std::int64_t slow_down : {2, 3, 7}) {
    for (const std::int64_t transfer_ns : {1, 99, 100, 101, 199, 200, 201, 500, 701}) {
      OpGraph graph;
      const OpId computed = graph.add_op(graph.add_stream(0, StreamKind::compute), {100}, Cause::linear);
      graph.join(graph.add_stream(0, StreamKind::communication), graph.add_collective({transfer_ns}),
                 Cause::states);
      OpEngine engine;
      engine.run(graph, nullptr, {static_cast<double>(slow_down)}, {});
      CAPTURE(slow_down, transfer_ns);
      CHECK(engine.end(computed) == slowed_compute_time({100}, {transfer_ns}, slow_down));
    }
  }
}

}  // namespace
}  // namespace packsim
