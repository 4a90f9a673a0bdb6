// Runs of whole schedules. LLaMA 8B on made-up GPUs, as no kernel is measured; packs of 16 Ki tokens a GPU,
// one in ten of them one of 128 Ki over 8 GPUs. An item is an event.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "models/step/step_pricer.hpp"
#include "sim/run/simulate.hpp"
#include "tests/models/llama_8b.hpp"
#include "tests/sim/run/hand_schedule.hpp"

namespace {

using packsim::StepDetail;
using packsim_test::kLlama8b;

packsim::Cluster cluster_of(int n_gpus) {
  packsim::Cluster cluster{.name = "", .source = "", .gpu = {}};
  cluster.nodes = n_gpus / 8;
  cluster.gpus_per_node = 8;
  cluster.network = {.nvlink_bytes_per_s = 450e9,
                     .nics_per_node = 8,
                     .nic_bytes_per_s = 50e9,
                     .rails = true,
                     .nodes_per_leaf = 32};
  return cluster;
}

// Documents of 64 to about 4 Ki tokens that fill a pack.
std::vector<std::int32_t> draw_documents(std::mt19937& generator, std::int32_t tokens) {
  std::vector<std::int32_t> documents;
  while (tokens > 0) {
    const auto length = static_cast<std::int32_t>(64 + generator() % 4000);
    documents.push_back(std::min(tokens, length));
    tokens -= documents.back();
  }
  return documents;
}

struct Run {
  packsim::Cluster cluster;
  packsim::HardwareProfile profile;
  std::vector<std::unique_ptr<packsim::StepPricer>> pricers;
  std::vector<packsim::PricedGroup> groups;
  packsim::Schedule schedule;

  void add_group(int sp_degree, std::size_t n_packs, bool alike) {
    const packsim::ParallelPlan plan{
        .n_gpus = schedule.n_gpus, .sequence = {.ulysses = sp_degree}, .gc_layers = 28};
    packsim::StepPricer& pricer = *pricers.emplace_back(
        std::make_unique<packsim::StepPricer>(kLlama8b, cluster, plan, profile, packsim::FrameworkFactors{}));
    packsim::PricedGroup& group = groups.emplace_back();
    group.plan = {.plan = plan, .chunks = {pricer.chunk(0)}, .states = {pricer.states()}};
    std::mt19937 generator(1);
    const std::int32_t tokens = 16384 * sp_degree;
    for (std::size_t i = 0; i < n_packs; ++i) {
      if (alike) generator.seed(1);
      group.packs.push_back(pricer.micro_batch(tokens, draw_documents(generator, tokens)));
    }
    schedule.groups.push_back({.gpus_per_pack = sp_degree, .n_dp_ranks = schedule.n_gpus / sp_degree});
  }
};

std::unique_ptr<Run> make_run(int n_gpus, int n_iterations, bool alike) {
  auto run = std::make_unique<Run>();
  run->cluster = cluster_of(n_gpus);
  run->schedule.n_gpus = n_gpus;
  const auto n_packs = static_cast<std::size_t>(n_gpus) * 100;
  run->add_group(1, n_packs, alike);
  run->add_group(8, n_packs / 8, alike);
  std::vector<std::uint32_t> next(2);
  for (int i = 0; i < n_iterations; ++i) {
    const std::uint32_t group = i % 10 == 0 ? 1 : 0;
    const auto n_ranks = static_cast<std::uint32_t>(run->schedule.groups[group].n_dp_ranks);
    const auto n_of_group = static_cast<std::uint32_t>(run->groups[group].packs.size());
    std::vector<std::uint32_t> packs;
    for (std::uint32_t r = 0; r < n_ranks; ++r) packs.push_back(next[group]++ % n_of_group);
    add_iteration(run->schedule, group, packs);
  }
  return run;
}

// Arguments: GPUs, iterations, level of detail, contention, packs that all cost the same, noise.
void simulate_run(benchmark::State& state) {
  const auto n_gpus = static_cast<int>(state.range(0));
  const std::unique_ptr<Run> run = make_run(n_gpus, static_cast<int>(state.range(1)), state.range(4) != 0);
  const packsim::Topology topology(run->cluster);
  const packsim::SimulationOptions options{
      .detail = state.range(2) == 0 ? StepDetail::micro_batches : StepDetail::stages,
      .topology = state.range(3) == 0 ? nullptr : &topology,
      .variability = {.rank_spread = state.range(5) == 0 ? 0 : 0.02,
                      .kernel_spread = state.range(5) == 0 ? 0 : 0.05}};
  std::uint64_t n_events = 0;
  for (auto _ : state) {
    const packsim::SimulatedRun simulated = packsim::simulate(run->schedule, run->groups, options);
    n_events += simulated.n_events;
    benchmark::DoNotOptimize(simulated.total_s);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(n_events));
}

BENCHMARK(simulate_run)
    ->ArgNames({"gpus", "iterations", "stages", "contention", "alike", "noise"})
    ->Args({32, 3300, 0, 0, 0, 0})
    ->Args({32, 3300, 1, 0, 0, 0})
    ->Args({32, 3300, 0, 1, 0, 0})
    ->Args({32, 3300, 1, 1, 0, 0})
    ->Args({10000, 100, 1, 0, 1, 0})
    ->Args({10000, 100, 0, 0, 0, 0})
    ->Args({10000, 100, 1, 0, 0, 0})
    ->Args({32, 3300, 0, 0, 0, 1})
    ->Args({32, 3300, 1, 0, 0, 1})
    ->Args({10000, 100, 0, 0, 0, 1})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

// Pricing packs of 16 Ki tokens, each of other documents. An item is a pack.
void price_packs(benchmark::State& state) {
  const packsim::Cluster cluster = cluster_of(32);
  const packsim::ParallelPlan plan{.n_gpus = 32};
  const packsim::HardwareProfile profile;
  packsim::StepPricer pricer(kLlama8b, cluster, plan, profile, {});
  std::mt19937 generator(1);
  std::vector<std::vector<std::int32_t>> packs;
  for (int i = 0; i < 1000; ++i) packs.push_back(draw_documents(generator, 16384));
  for (auto _ : state) {
    for (const auto& pack : packs) benchmark::DoNotOptimize(pricer.micro_batch(16384, pack));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(packs.size()));
}
BENCHMARK(price_packs);

}  // namespace
