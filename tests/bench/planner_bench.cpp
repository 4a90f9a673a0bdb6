// What our planner takes to plan an epoch of one million samples, on one thread: prices of all that it may
// choose from, and the plan. HBP's packing of the same samples stands beside it.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>

#include "experiment/plans/batch_run.hpp"
#include "experiment/plans/plan_strategy.hpp"
#include "packing/schedule/order_moves.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/bench/one_million_lengths.hpp"
#include "tests/paths.hpp"
#include "tests/shipped_data.hpp"

namespace packsim {
namespace {

const Scenario& hybrid_job() {
  static const Scenario kScenario = load_scenario(
      packsim_test::source_dir() + "/scenarios/llama3.1-8b-hybrid-128k.json", packsim_test::kData);
  return kScenario;
}

StrategySpec strategy_spec(const std::string& strategy) {
  const auto& specs = hybrid_job().strategies;
  return *std::ranges::find(specs, strategy, &StrategySpec::name);
}

std::optional<BatchRun> priced_run() {
  ScenarioPricers pricers(hybrid_job());
  return batch_run(hybrid_job(), strategy_spec("planner"), std::ranges::max(one_million_lengths()), pricers);
}

void planner_prices(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(priced_run());
}

// window_iterations: of the planner.
void planner_plan(benchmark::State& state, int window_iterations) {
  const std::optional<BatchRun> run = priced_run();
  StrategySpec spec = strategy_spec("planner");
  spec.options.set("window_iterations", window_iterations);
  PackRequest request = pack_request(spec, run->groups, one_million_lengths());
  request.setting = &run->setting;
  for (auto _ : state) benchmark::DoNotOptimize(pack("planner", request).n_packs());
  const OrderMoves moves = order_moves(pack("planner", request), spec.options);
  state.SetItemsProcessed(state.iterations() * std::ssize(one_million_lengths()));
  state.counters["mean_move_iterations"] = moves.mean_move_iterations;
}

void hbp_plan(benchmark::State& state) {
  const StrategySpec spec = strategy_spec("hbp");
  for (auto _ : state) benchmark::DoNotOptimize(plan_strategy(hybrid_job(), spec, one_million_lengths()));
  state.SetItemsProcessed(state.iterations() * std::ssize(one_million_lengths()));
}

BENCHMARK(planner_prices)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(planner_plan, whole_data_set, 0)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(planner_plan, in_order, 1)->Unit(benchmark::kMillisecond);
BENCHMARK(hbp_plan)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace packsim
