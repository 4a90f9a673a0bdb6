// Jobs on which strategies that form iterations are easy to get wrong.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "experiment/compare_strategies.hpp"
#include "experiment/plans/check_strategies.hpp"
#include "scenarios/loader/json/problems.hpp"
#include "scenarios/loader/lengths/draw_lengths.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

namespace {

struct SmallJob {
  std::string lengths;  // a line each
  std::string strategies;
  std::string model = "llama3.1-8b";
  std::string parallelism = "";
  int nodes = 2;
  int zero_stage = 1;
  std::int64_t tokens_per_iteration = 262144;
};

Scenario scenario_of(const SmallJob& job, const TempFolder& folder) {
  folder.write("lengths.csv", "tokens\n" + job.lengths);
  const std::string text =
      R"({"format": 1, "name": "case", "model": ")" + job.model +
      R"(", "cluster": {"type": "h100-sxm-80gb", "nodes": )" + std::to_string(job.nodes) +
      R"(}, "profile": "deepspeed-ulysses-h100", "training": {"tokens_per_iteration": )" +
      std::to_string(job.tokens_per_iteration) + R"(, "epochs": 1, "zero_stage": )" +
      std::to_string(job.zero_stage) + R"(}, "parallelism": {)" + job.parallelism +
      R"(}, "lengths": {"mix": [{"source": "lengths.csv"}]}, "strategies": [)" + job.strategies + "]}";
  return load_scenario(folder.write("scenario.json", text), packsim_test::kData);
}

Report report_of(const SmallJob& job, Level level = Level::step) {
  const TempFolder folder;
  RunOptions options;
  options.level = level;
  return compare_strategies(scenario_of(job, folder), options);
}

std::string repeated(const std::string& line, int n) {
  std::string text;
  for (int i = 0; i < n; ++i) text += line + "\n";
  return text;
}

// 5 to n x 5 + 5 hundred tokens and, every seventh, as many thousand.
std::string mixed_lengths(int n) {
  std::string text;
  for (int i = 1; i <= n; ++i) text += std::to_string((i % 7 == 0 ? 1000 : 100) * (5 + i % 13)) + "\n";
  return text;
}

}  // namespace

TEST_CASE("GPUs that are left over wait for no round that others are in") {
  // Under ZeRO 2 all GPUs exchange gradients in every round; FlexSP's micro-batches are apart by barriers.
  const SmallJob job{
      .lengths = "8192\n8192\n2374\n",
      .strategies = R"({"strategy": "flexsp", "groups": [{"capacity_tokens": 1024, "sp_degree": 1},
      {"capacity_tokens": 2048, "sp_degree": 2}, {"capacity_tokens": 4096, "sp_degree": 4},
      {"capacity_tokens": 8192, "sp_degree": 8}]})",
      .zero_stage = 2,
      .tokens_per_iteration = 524288};
  const Report steps = report_of(job);
  CHECK(steps.runs[0].counts.trained_tokens == 8192 + 8192 + 2374);
  CHECK(report_of(job, Level::op).runs[0].times->gpu_days ==
        Approx(steps.runs[0].times->gpu_days).epsilon(0.01));
}

TEST_CASE("ranks that share experts checkpoint alike in every round", "[plain]") {
  // Recomputed layers exchange tokens too: ranks that do not recompute would not be there.
  for (const int zero_stage : {1, 2, 3}) {
    const Report report = report_of({.lengths = mixed_lengths(40),
                                     .strategies = R"({"name": "planner", "strategy": "planner"})",
                                     .model = "qwen3-30b-a3b",
                                     .parallelism = R"("ep_degree": 8)",
                                     .zero_stage = zero_stage});
    CAPTURE(zero_stage);
    REQUIRE(report.runs[0].feasible);
    CHECK(report.runs[0].bound->above_fraction >= 0);
  }
}

TEST_CASE("a stage that holds all samples is chosen before one that is faster and does not", "[plain]") {
  const std::string lengths = repeated("2000", 60) + "200000\n";
  const Report report =
      report_of({.lengths = lengths,
                 .strategies = R"({"name": "one", "strategy": "planner", "over_long": "drop"},
      {"name": "any", "strategy": "planner", "over_long": "drop", "zero_stages": [1, 2, 3]},
      {"name": "short", "strategy": "planner", "over_long": "drop", "zero_stages": [1, 2, 3], "capacity_tokens": 100000})",
                 .nodes = 1});
  const auto& [one, any, shorter] = std::tie(report.runs[0], report.runs[1], report.runs[2]);
  REQUIRE(one.counts.dropped_tokens == 200000);
  CHECK(any.counts.dropped_tokens == 0);
  CHECK(any.groups[0].zero_stage > 1);
  // Where all train the same, time decides.
  CHECK(shorter.counts.dropped_tokens == 200000);
  CHECK(shorter.times->gpu_days < one.times->gpu_days);
}

TEST_CASE("a stage at which samples are too long does not count where another one holds them") {
  const std::string lengths = repeated("2000", 60) + "200000\n";
  const Report report = report_of(
      {.lengths = lengths, .strategies = R"({"strategy": "planner", "zero_stages": [1, 3]})", .nodes = 1});
  CHECK(report.runs[0].counts.trained_tokens == 60 * 2000 + 200000);
  CHECK_THROWS_WITH(
      report_of({.lengths = lengths, .strategies = R"({"name": "p", "strategy": "planner"})", .nodes = 1}),
      Catch::Contains("/strategies/0: p: lengths_tokens: expected lengths of at most ") &&
          Catch::Contains(" has 200000"));
}

TEST_CASE("more GPUs than a model has heads for share a pack by a ring") {
  // 28 heads: Ulysses over at most 4 GPUs, where 400 000 tokens do not fit.
  const std::string lengths = repeated("2000", 60) + "400000\n";
  const Report report = report_of(
      {.lengths = lengths, .strategies = R"({"strategy": "planner"})", .model = "qwen2.5-7b", .nodes = 2});
  const StrategyResult& run = report.runs[0];
  REQUIRE(run.feasible);
  CHECK(run.counts.trained_tokens == 60 * 2000 + 400000);
  const SequenceParallelism longest = run.groups.back().sequence;
  CHECK(longest.gpus_per_pack() > 4);
  CHECK(longest.ring > 1);
  CHECK(run.bound->above_fraction >= 0);
}

TEST_CASE("a planner on a job that does not fit is a result, beside others") {
  const Report report = report_of(
      {.lengths = mixed_lengths(30),
       .strategies = R"({"name": "isf", "strategy": "isf", "capacity_tokens": 16384, "sp_degree": 8},
      {"name": "planner", "strategy": "planner", "zero_stages": [0]})",
       .nodes = 1});
  CHECK(report.runs[0].feasible);
  CHECK_FALSE(report.runs[1].feasible);
  CHECK_FALSE(report.runs[1].times);
  CHECK(report.runs[1].groups[0].peak_memory_bytes > report.runs[1].groups[0].gpu_memory_bytes);
}

TEST_CASE("a few samples that one pack holds are one pack") {
  const Report report = report_of(
      {.lengths = "7111\n11157\n13239\n4355\n16346\n",
       .strategies = R"({"name": "isf", "strategy": "isf", "capacity_tokens": 65536, "sp_degree": 8},
      {"name": "planner", "strategy": "planner"})",
       .nodes = 1,
       .zero_stage = 3,
       .tokens_per_iteration = 65536});
  CHECK(report.runs[1].times->gpu_days <= report.runs[0].times->gpu_days * (1 + 1e-9));
}

TEST_CASE("what a strategy that chooses its groups cannot carry out is refused, all of it, where it stands") {
  const TempFolder folder;
  const Scenario scenario = scenario_of(
      {.lengths = mixed_lengths(30),
       .strategies = R"({"name": "a", "strategy": "planner", "over_long": "own_pack", "padding": "capacity"},
      {"name": "b", "strategy": "planner", "window_samples": 50, "zero_stages": [1, 0]})",
       .parallelism = R"("offload": "optimizer")"},
      folder);
  std::string what;
  try {
    check_strategies(scenario, draw_lengths(scenario.lengths, scenario.seed).lengths_tokens);
  } catch (const ScenarioError& error) {
    what = error.what();
  }
  for (const char* part :
       {"/strategies/0/over_long: a: expected error, drop, truncate or split for a strategy that chooses "
        "pack lengths, got \"own_pack\"",
        "/strategies/0/padding: a: expected none for a strategy that chooses pack lengths, got \"capacity\"",
        "/strategies/1/window_samples: b: expected 0 for a strategy with windows of its own "
        "(window_iterations), got 50",
        "/strategies/1/zero_stages: b: expected stages that the parallel plan can have, got 0 "
        "(zero_stage: "}) {
    CAPTURE(part, what);
    CHECK(what.find(part) != std::string::npos);
  }
}
