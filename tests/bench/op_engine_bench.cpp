// Whole steps of operations: building their graph, running it and taking its account. An item is an
// operation.

#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/op_account.hpp"
#include "sim/engine/op_engine.hpp"

namespace {

using packsim::Cause;
using packsim::CollectiveId;
using packsim::FlowNetwork;
using packsim::LinkUse;
using packsim::OpEngine;
using packsim::OpGraph;
using packsim::OpId;
using packsim::StreamKind;

constexpr std::uint32_t kGroupRanks = 8;
constexpr int kComputedPerCollective = 4;

// Durations from 10 to 50 us that no predictor learns.
class Durations {
 public:
  packsim::SimTime next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return {10'000 + static_cast<std::int64_t>(state_ % 40'000)};
  }

 private:
  std::uint64_t state_ = 0x9E3779B97F4A7C15;
};

// Groups of 8 ranks: four operations, then a collective behind them that alone takes about as long as they
// do, and so on. It has the next four operations to hide behind: those after them wait for it. A group's
// collectives use its own link, and one that four groups share and which two of them fill.
void add_step(std::uint32_t n_ranks, std::uint32_t n_ops, OpGraph& graph) {
  Durations durations;
  graph.clear();
  for (std::uint32_t rank = 0; rank < n_ranks; ++rank) {
    graph.add_stream(rank, StreamKind::compute);
    graph.add_stream(rank, StreamKind::communication);
  }
  std::vector<std::vector<OpId>> joined(n_ranks);  // the last two
  CollectiveId collective = 0;
  for (std::uint32_t i = 0; i < n_ops; i += kComputedPerCollective + 1) {
    for (std::uint32_t rank = 0; rank < n_ranks; ++rank) {
      const std::uint32_t group = rank / kGroupRanks;
      if (rank % kGroupRanks == 0) {
        const packsim::SimTime alone{kComputedPerCollective * durations.next().ns};
        const double bytes = static_cast<double>(alone.ns) / 2;  // of 1 byte/ns
        collective = graph.add_collective(
            alone, std::array{LinkUse{2 * group, bytes}, LinkUse{group / 4 * 2 + 1, bytes}});
      }
      auto& last = joined[rank];
      const bool waits = last.size() == 2;
      OpId computed = graph.add_op(2 * rank, durations.next(), Cause::linear,
                                   waits ? std::span(last).first(1) : std::span<OpId>{});
      if (waits) last.erase(last.begin());
      for (int k = 1; k < kComputedPerCollective; ++k) {
        computed = graph.add_op(2 * rank, durations.next(), Cause::linear);
      }
      last.push_back(graph.join(2 * rank + 1, collective, Cause::states, std::array{computed}));
    }
  }
}

void count(benchmark::State& state, const OpGraph& graph) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(graph.ops().size()));
}

// slow_down in percent over 1, contention or not.
void run(benchmark::State& state) {
  const auto n_ranks = static_cast<std::uint32_t>(state.range(0));
  OpGraph graph;
  add_step(n_ranks, static_cast<std::uint32_t>(state.range(1)), graph);
  const double slow_down = 1 + static_cast<double>(state.range(2)) / 100;
  FlowNetwork network(std::vector<double>(2 * (n_ranks / kGroupRanks + 1), 1e9));
  OpEngine engine;
  for (auto _ : state) {
    engine.run(graph, state.range(3) != 0 ? &network : nullptr, {slow_down}, {});
    benchmark::DoNotOptimize(engine.run_end());
  }
  count(state, graph);
}
BENCHMARK(run)
    ->ArgNames({"ranks", "ops_per_rank", "slow_down_percent", "contention"})
    ->Args({32, 1000, 0, 0})
    ->Args({32, 1000, 10, 0})
    ->Args({32, 1000, 0, 1})
    ->Args({32, 1000, 10, 1})
    ->Args({1250, 1000, 0, 0})
    ->Args({1250, 1000, 10, 0})
    ->Args({1250, 1000, 0, 1});

void build_graph(benchmark::State& state) {
  OpGraph graph;
  for (auto _ : state) add_step(32, 1000, graph);
  count(state, graph);
}
BENCHMARK(build_graph);

void take_account(benchmark::State& state) {
  OpGraph graph;
  add_step(32, 1000, graph);
  OpEngine engine;
  engine.run(graph, nullptr, {}, {});
  packsim::OpAccount account;
  for (auto _ : state) packsim::take_account(graph, engine, account);
  count(state, graph);
}
BENCHMARK(take_account);

}  // namespace
