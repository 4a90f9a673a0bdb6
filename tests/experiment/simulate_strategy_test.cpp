#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "experiment/compare_strategies.hpp"
#include "experiment/plans/plan_group.hpp"
#include "experiment/trace_strategy.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;
using Catch::Matchers::Contains;

namespace {

// Two strategies that fit in memory, one whose packs do not, and one that trains nothing, because its only
// iteration is not full and is dropped.
constexpr const char* kSmall = R"({"format": 1, "name": "small", "model": "llama3.1-8b",
  "cluster": {"type": "h100-sxm-80gb", "nodes": 1}, "profile": "deepspeed-ulysses-h100",
  "training": {"tokens_per_iteration": 262144, "epochs": 1, "zero_stage": 3}, "parallelism": {},
  "lengths": {"mix": [{"source": "lengths.csv"}]}, "packing": {"over_long": "truncate"},
  "strategies": [
    {"strategy": "isf", "capacity_tokens": 32768, "sp_degree": 4},
    {"strategy": "ffd", "capacity_tokens": 32768, "sp_degree": 8},
    {"name": "too-big", "strategy": "bfd", "capacity_tokens": 131072, "sp_degree": 1},
    {"name": "nothing", "strategy": "bfd", "capacity_tokens": 32768, "sp_degree": 8, "last_iteration": "drop"}
  ]
})";

Scenario small_scenario(const TempFolder& folder) {
  std::string lengths = "tokens\n";
  for (int i = 0; i < 90; ++i) lengths += std::to_string(1 + 37 * i * i % 5000) + "\n";
  folder.write("lengths.csv", lengths + "140000\n");
  return load_scenario(folder.write("small.json", kSmall), packsim_test::kData);
}

}  // namespace

TEST_CASE("A strategy simulated alone is its run of the comparison, without a speed-up") {
  const TempFolder folder;
  const Scenario scenario = small_scenario(folder);
  const Report report = compare_strategies(scenario);
  for (const StrategyResult& run : report.runs) {
    CAPTURE(run.name);
    const StrategyResult alone = simulate_strategy(scenario, run.name);
    CHECK(alone.name == run.name);
    CHECK(alone.feasible == run.feasible);
    CHECK(alone.iterations == run.iterations);
    CHECK(alone.counts.trained_tokens == run.counts.trained_tokens);
    CHECK(alone.speedup == std::nullopt);
    REQUIRE(alone.times.has_value() == run.times.has_value());
    if (!run.times) continue;
    CHECK(alone.times->gpu_days == run.times->gpu_days);
    CHECK(alone.times->gpu_days_high == run.times->gpu_days_high);
    CHECK(alone.times->shares.by_cause == run.times->shares.by_cause);
    CHECK(alone.balance->abr == run.balance->abr);
  }
  CHECK(report.runs[1].speedup.has_value());
  CHECK_FALSE(report.runs[2].times.has_value());
}

TEST_CASE("Simulating or tracing a strategy that the scenario has not names those that it has") {
  const TempFolder folder;
  const Scenario scenario = small_scenario(folder);
  const char* known = "one of isf, ffd, too-big, nothing, got";
  CHECK_THROWS_WITH(simulate_strategy(scenario, "nobody"), Contains(known) && Contains("got \"nobody\""));
  CHECK_THROWS_WITH(trace_strategy(scenario, "nobody", TracedBy::median), Contains(known));
}

TEST_CASE("A trace says why there is nothing to trace") {
  const TempFolder folder;
  const Scenario scenario = small_scenario(folder);
  const auto trace = [&](const char* name, const TracedIteration& which) {
    return trace_strategy(scenario, name, which);
  };
  CHECK(trace("isf", TracedBy::slowest).steps.front().iteration < 2);
  CHECK_THROWS_WITH(trace("isf", std::size_t{99}), Contains("got \"99\"") || Contains("got 99"));
  CHECK_THROWS_WITH(trace("too-big", TracedBy::median),
                    Contains("strategy too-big: expected a plan that fits in GPU memory"));
  CHECK_THROWS_WITH(trace("nothing", TracedBy::median),
                    Contains("strategy nothing: expected at least one iteration, got none"));
}

TEST_CASE("Traced steps follow each other, and their memory is that of the memory model") {
  const TempFolder folder;
  const Scenario scenario = small_scenario(folder);
  const auto trace = [&](std::size_t first, std::size_t n_steps) {
    return trace_strategy(scenario, "isf", first, {.n_steps = n_steps});
  };
  const std::size_t n = trace(0, 1).plan.schedule.iterations.size();
  CHECK_THROWS_WITH(trace(0, n + 1), Contains("steps: expected 1.." + std::to_string(n) +
                                              " from iteration 0 on, got " + std::to_string(n + 1)));
  const StrategyTrace traced = trace(0, n);
  REQUIRE(traced.steps.size() == n);
  const PlanMemory memory(scenario.model, scenario.cluster, traced.plan.plans[0],
                          memory_assumptions(scenario));
  SimTime end;
  double most_bytes = 0;
  for (const StrategyStep& one : traced.steps) {
    CHECK(one.step.start == end);
    // A step takes as long as by itself.
    CHECK(one.step.end - one.step.start == trace(one.iteration, 1).steps[0].step.end);
    end = one.step.end;
    for (std::size_t i = 0; i < one.memory.size(); ++i) {
      const TracedMemory& moment = one.memory[i];
      most_bytes = std::max(most_bytes, moment.held.total_bytes());
      const bool is_first = i == 0 || one.memory[i - 1].lane != moment.lane;
      const bool is_last = i + 1 == one.memory.size() || one.memory[i + 1].lane != moment.lane;
      if (!is_first) CHECK(one.memory[i - 1].time < moment.time);
      if (is_last) CHECK(moment.held.total_bytes() == memory.at_rest(0).total_bytes());
      CHECK(moment.time >= one.step.start);
      CHECK(moment.time <= one.step.end);
    }
  }
  // All steps together train every pack, the largest one too, and without a pipeline one pack at a time.
  CHECK(most_bytes == Approx(traced.plan.groups[0].peak_memory_bytes).epsilon(1e-12));
}

TEST_CASE("An optimizer in the backward pass is refused where a rank has several micro-batches in a step") {
  const TempFolder folder;
  Scenario scenario = small_scenario(folder);
  scenario.plan.zero_stage = 0;
  scenario.plan.optimizer_in_backward = true;
  scenario.plan.execution.optimizer = &kAdamWBf16;
  scenario.strategies.resize(1);
  // 262 144 tokens on two ranks are four packs of 32 768 each.
  const Report report = compare_strategies(scenario, {.keeps_failures = true});
  REQUIRE(report.runs[0].failure.has_value());
  CHECK_THAT(*report.runs[0].failure,
             Contains("optimizer_in_backward: expected one micro-batch for each rank in a "
                      "step, as gradients of several have to be kept and added up, got 4"));
}
