// What a run takes beside its steps, as sums on paper.
#include "experiment/costs/whole_run.hpp"

#include <catch2/catch.hpp>

#include "experiment/compare_strategies.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

namespace packsim {
namespace {

// 16 GPUs for 7.5 hours are 5 GPU-days.
Scenario scenario_with(const BesideSteps& beside) {
  Scenario scenario;
  scenario.cluster.nodes = 2;
  scenario.cluster.gpus_per_node = 8;
  scenario.beside_steps = beside;
  return scenario;
}

RunTimes five_gpu_days() {
  RunTimes times;
  times.wall_hours = 7.5;
  times.gpu_days = 5;
  times.gpu_days_low = 4;
  times.gpu_days_high = 6;
  return times;
}

// Equal samples that fill 32 packs, two for each GPU in each of two steps.
StrategyResult simulated(const std::string& members, const std::string& training = "") {
  const TempFolder folder;
  std::string lengths = "tokens\n";
  for (int i = 0; i < 32; ++i) lengths += "4096\n";
  folder.write("lengths.csv", lengths);
  return compare_strategies(load_scenario(folder.write("job.json", R"({"format": 1, "name": "job",
    "model": "qwen2.5-7b", "cluster": {"type": "h100-sxm-80gb", "nodes": 1, "gpu_hour_price": 3},
    "profile": "deepspeed-ulysses-h100",)" + members + R"(
    "training": {"tokens_per_iteration": 65536, "zero_stage": 3)" + training +
                                                                       R"(},
    "lengths": {"mix": [{"source": "lengths.csv"}]},
    "strategies": [{"strategy": "bfd", "capacity_tokens": 4096, "gc_layers": 0}]})"),
                                          packsim_test::kData))
      .runs.front();
}

}  // namespace

TEST_CASE("a scenario that says nothing beside its steps has no whole run") {
  Scenario scenario = scenario_with({});
  scenario.beside_steps.reset();
  CHECK_FALSE(whole_run(scenario, five_gpu_days(), 100, 0));
}

TEST_CASE("what is said once is added once, and what is said of iterations as often as there are any") {
  const BesideSteps beside{.startup_s = 600,
                           .first_steps_s = 60,
                           .data_wait_s = 0.5,
                           .evaluation = BesideSteps::Evaluation{.every_iterations = 30, .duration_s = 40},
                           .checkpoints = BesideSteps::Checkpoints{.every_iterations = 50, .blocking_s = 10},
                           .finish_s = 120};
  const WholeRun run = whole_run(scenario_with(beside), five_gpu_days(), 100, 0).value();
  CHECK(run.data_wait_s == Approx(50));    // 100 x 0.5
  CHECK(run.evaluation_s == Approx(120));  // after 30, 60 and 90 iterations
  CHECK(run.checkpoint_s == Approx(20));   // after 50 and 100
  // 600 + 60 + 50 + 120 + 20 + 120 = 970 s of 16 GPUs, which are as certain at both ends.
  CHECK(run.wall_hours == Approx(7.5 + 970.0 / 3600));
  CHECK(run.gpu_days == Approx(5 + 970.0 * 16 / 86400));
  CHECK(run.gpu_days_low == Approx(4 + 970.0 * 16 / 86400));
  CHECK(run.gpu_days_high == Approx(6 + 970.0 * 16 / 86400));
}

TEST_CASE("an evaluation of tokens takes their forward passes on all GPUs, as uncertain as the steps") {
  const BesideSteps beside{
      .evaluation = BesideSteps::Evaluation{.every_iterations = 10, .duration_s = {}, .tokens = 2e6}};
  // 2 million tokens of 20 us of a GPU, on 16: 2.5 s, ten times.
  const WholeRun run = whole_run(scenario_with(beside), five_gpu_days(), 100, 20e-6).value();
  CHECK(run.evaluation_s == Approx(25));
  const double more = 25.0 * 16 / 86400;
  CHECK(run.gpu_days == Approx(5 + more));
  CHECK(run.gpu_days_low == Approx(4 * (5 + more) / 5));
  CHECK(run.gpu_days_high == Approx(6 * (5 + more) / 5));
}

TEST_CASE("without an interval of the steps there is none of the whole run") {
  RunTimes times = five_gpu_days();
  times.gpu_days_low = times.gpu_days_high = 0;
  const WholeRun run = whole_run(scenario_with({.startup_s = 600}), times, 100, 0).value();
  CHECK(run.gpu_days_low == 0);
  CHECK(run.gpu_days_high == 0);
}

TEST_CASE("evaluating what a step trains takes a third of its computation") {
  const StrategyResult run =
      simulated(R"("beside_steps": {"evaluation": {"every_iterations": 1, "tokens": 65536}},)");
  REQUIRE(run.whole);
  REQUIRE(run.iterations == 2);
  // Products take twice as long backwards as forwards, attention two and a half times, and nothing is
  // recomputed.
  const auto& by_cause = run.times->shares.by_cause;
  const double computed = by_cause[static_cast<std::size_t>(Cause::linear)] +
                          by_cause[static_cast<std::size_t>(Cause::attention)];
  // The framework's time for a micro-batch comes on top, at most all of it.
  const double overhead = by_cause[static_cast<std::size_t>(Cause::overhead)];
  const double fraction = run.whole->evaluation_s / (3600 * run.times->wall_hours);
  CHECK(fraction > 0.29 * computed);
  CHECK(fraction < 0.36 * computed + overhead);
  CHECK(run.whole->wall_hours == Approx(run.times->wall_hours + run.whole->evaluation_s / 3600));
}

TEST_CASE("failures interrupt the whole run, not its steps alone") {
  const std::string failures =
      R"("failures": {"mtbf_hours": 100, "unit": "gpu", "checkpoint": {"write_s": 20},
                 "restart": {"detection_s": 60, "reschedule_s": 300, "load_s": 60}},)";
  const StrategyResult steps = simulated(failures);
  const StrategyResult whole = simulated(failures + R"("beside_steps": {"startup_s": 3600},)");
  CHECK(whole.times->gpu_days == steps.times->gpu_days);
  CHECK(whole.failures->wall_hours > steps.failures->wall_hours + 1);
  CHECK(whole.cost->money.value() == Approx(*steps.cost->money + 3 * 8));  // an hour of 8 GPUs at 3
  CHECK(whole.cost->money_with_failures.value() == Approx(3 * 24 * whole.failures->gpu_days));
}

}  // namespace packsim
