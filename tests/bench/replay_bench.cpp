// Replays of the size of HBP's runs. An item is one event.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "sim/replay.hpp"

namespace {

class TokenCost final : public packsim::CostModel {
 public:
  packsim::MicroBatchTime micro_batch(const packsim::MicroBatch& batch,
                                      const packsim::GroupPlan&) const override {
    return {.linear_s = 1e-5 * static_cast<double>(batch.tokens), .overhead_s = 1e-3};
  }
  double iteration_s() const override { return 1e-2; }
};

std::vector<packsim::MicroBatch> random_batches(std::int64_t n_packs) {
  std::vector<packsim::MicroBatch> batches(static_cast<std::size_t>(n_packs));
  std::uint64_t state = 0x9E3779B97F4A7C15;
  for (packsim::MicroBatch& batch : batches) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    batch.tokens = static_cast<std::int64_t>(1 + state % 32768);
  }
  return batches;
}

// Arguments: iterations, ranks, micro-batches per rank, barrier.
void replay_run(benchmark::State& state) {
  packsim::ScheduleOptions options;
  options.n_gpus = static_cast<int>(state.range(1));
  options.micro_batches_per_rank = static_cast<int>(state.range(2));
  const auto barrier = state.range(3) == 0 ? packsim::Barrier::iteration : packsim::Barrier::micro_batch;
  const std::vector<std::vector<packsim::MicroBatch>> batches{
      random_batches(state.range(0) * state.range(1) * state.range(2))};
  const packsim::Schedule schedule = packsim::make_schedule(
      batches, std::vector<std::int64_t>{32768}, std::vector<packsim::GroupParallelism>(1), options);
  std::uint64_t n_events = 0;
  for (auto _ : state) {
    const packsim::RunMetrics metrics = packsim::replay(schedule, batches, TokenCost{}, barrier);
    n_events += metrics.n_events;
    benchmark::DoNotOptimize(metrics.total_s);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(n_events));
}

BENCHMARK(replay_run)
    ->ArgNames({"iterations", "ranks", "micro_batches", "barrier"})
    ->Args({3300, 32, 1, 0})
    ->Args({3300, 32, 4, 0})
    ->Args({3300, 32, 4, 1})
    ->Args({500'000, 4, 1, 0})
    ->Unit(benchmark::kMillisecond);

}  // namespace
