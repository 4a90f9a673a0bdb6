// What the loss biases of all normalisers take over an epoch of one million samples, on one thread: in packs
// of 131 072 tokens, and in packs of one sample, of which an iteration has a few.

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "packing/loss/loss_bias.hpp"
#include "packing/pack.hpp"
#include "packing/schedule/schedule.hpp"
#include "tests/bench/one_million_lengths.hpp"

namespace packsim {
namespace {

void loss_biases_of(benchmark::State& state, const std::string& strategy, int gpus_per_pack) {
  constexpr std::int64_t kCapacityTokens = 131'072;
  const Packing packing =
      pack(strategy, {.lengths_tokens = one_million_lengths(), .capacities_tokens = {kCapacityTokens}});
  const std::vector<std::vector<MicroBatch>> batches = {micro_batches(packing, 0, Padding::none)};
  const std::vector<GroupParallelism> parallelism = {{.gpus_per_pack = gpus_per_pack}};
  const Schedule schedule = make_schedule(batches, packing.capacities_tokens, parallelism, {.n_gpus = 32});
  const LossTokens loss_tokens(packing);
  const auto losses = count_losses(packing, loss_tokens);
  for (auto _ : state)
    benchmark::DoNotOptimize(loss_bias(packing, schedule, loss_tokens, losses, normalisers()));
  state.SetItemsProcessed(state.iterations() * std::ssize(one_million_lengths()));
}

BENCHMARK_CAPTURE(loss_biases_of, bfd, "bfd", 16)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(loss_biases_of, none, "none", 16)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace packsim
