#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <random>
#include <string>

#include "experiment/compare_strategies.hpp"
#include "experiment/results/job_differences.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

namespace {

// Every kind of strategy of the table; where all GPUs meet in every round, those alone that leave none of
// them without a pack. keys: of the group of those that have one.
std::string strategies_json(const std::string& keys, bool fills_rounds) {
  std::string text;
  for (const char* name : {"none",
                           "random",
                           "isf",
                           "ffd",
                           "bfd",
                           "spfhp",
                           "wrapped",
                           "longalign",
                           "longalign_sorted",
                           "wlb",
                           "megatron_dp_balanced",
                           "verl_kk",
                           "slime_kk",
                           "prime_rl",
                           "trl_lpt",
                           "megatron_hybrid_cp",
                           "megatron_dynamic_cp",
                           "planner",
                           "flexsp",
                           "hbp"}) {
    const std::string of_name = name;
    if (fills_rounds && (of_name == "megatron_hybrid_cp" || of_name == "megatron_dynamic_cp")) continue;
    const bool takes_groups = of_name == "hbp" || of_name == "flexsp" ||
                              of_name.starts_with("megatron_hybrid") ||
                              of_name.starts_with("megatron_dynamic");
    text += (text.empty() ? "" : ",\n") + std::string(R"({"name": ")") + name + R"(", "strategy": ")" + name +
            "\"";
    if (takes_groups) {
      text +=
          R"(, "groups": [{"capacity_tokens": 4096, "sp_degree": 1}, {"capacity_tokens": 16384, "sp_degree": 4}])";
    } else if (of_name != "planner") {
      text += R"(, "capacity_tokens": 16384, )" + keys;
    }
    text += "}";
  }
  return text;
}

std::string scenario_json(const std::string& training, const std::string& parallelism,
                          const std::string& more, const std::string& strategies) {
  return R"({"format": 1, "name": "bounds", "model": "llama3.1-8b", "cluster": {"type": "h100-sxm-80gb", "nodes": 2},
  "profile": "deepspeed-ulysses-h100", "training": {"tokens_per_iteration": 131072, "epochs": 2)" +
         training + R"(}, "parallelism": {)" + parallelism +
         R"(}, "lengths": {"mix": [{"source": "lengths.csv"}]},
  )" + more +
         R"("strategies": [)" + strategies + "]}";
}

// Mostly short, some nearly as long as a pack.
std::string random_lengths(std::mt19937& generator) {
  std::string text = "tokens\n";
  for (int i = 0; i < 400; ++i) {
    const std::uint32_t most = i % 20 == 0 ? 16384 : i % 4 == 0 ? 4096 : 700;
    text += std::to_string(1 + generator() % most) + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("No strategy is below the bound, under any plan", "[plain]") {
  const std::string all = strategies_json(R"("sp_degree": 2)", false);
  const std::string in_rounds = strategies_json(R"("sp_degree": 2)", true);
  const std::string packers = R"({"name": "isf", "strategy": "isf", "capacity_tokens": 16384, "sp_degree": 1},
    {"name": "padded", "strategy": "bfd", "capacity_tokens": 16384, "sp_degree": 2, "padding": "capacity"},
    {"name": "rows", "strategy": "sorted", "capacity_tokens": 16384, "sp_degree": 1, "padding": "longest"},
    {"name": "short", "strategy": "ffd", "capacity_tokens": 16384, "sp_degree": 2, "last_iteration": "shorten"},
    {"name": "dropped", "strategy": "ffd", "capacity_tokens": 16384, "sp_degree": 2, "last_iteration": "drop"})";
  const std::string ring = R"({"name": "ring", "strategy": "isf", "capacity_tokens": 16384, "cp_degree": 4},
    {"name": "both", "strategy": "bfd", "capacity_tokens": 16384, "sp_degree": 2, "cp_degree": 2})";
  const std::string planners = packers + R"(, {"name": "planner", "strategy": "planner"},
    {"name": "in order", "strategy": "planner", "window_iterations": 1})";
  const std::string interleaved = R"({"name": "planner", "strategy": "planner"},
    {"name": "in order", "strategy": "planner", "window_iterations": 2})";
  const std::vector<std::string> scenarios = {
      scenario_json(R"(, "zero_stage": 1)", "", "", all),
      scenario_json(R"(, "zero_stage": 3)", R"("overlaps_states": true)", "", in_rounds),
      scenario_json(R"(, "zero_stage": 2)", R"("overlaps_states": false)", "", packers),
      scenario_json(R"(, "zero_stage": 1)",
                    R"("overlaps_states": true, "overlaps_gather": true, "bucket_elements": 40000000)", "",
                    packers),
      scenario_json(R"(, "zero_stage": 1)", R"("tp_degree": 2, "pp_degree": 2)", "", planners),
      scenario_json(R"(, "zero_stage": 1)", R"("pp_degree": 2, "virtual_stages": 4)", "", interleaved),
      scenario_json(R"(, "zero_stage": 1)", R"("tp_degree": 2, "pp_degree": 4, "overlaps_states": true)", "",
                    planners),
      scenario_json(R"(, "zero_stage": 1)", R"("tp_degree": 2, "pp_degree": 4, "pipeline_schedule": "gpipe")",
                    "", planners),
      scenario_json(R"(, "zero_stage": 0)",
                    R"("tp_degree": 2, "pp_degree": 4, "chunk_layers": [10, 9, 8, 5])", "", planners),
      scenario_json(R"(, "zero_stage": 3)", R"("lora_rank": 16, "overlaps_states": false)", "", packers),
      scenario_json(R"(, "zero_stage": 1)", "", "", ring),
      scenario_json(R"(, "zero_stage": 1)", "", R"("what_if": {"free": "states"}, )", packers),
      scenario_json(R"(, "zero_stage": 3)", R"("overlaps_states": false)",
                    R"("what_if": {"free": ["sequence", "states"]}, )", ring),
      scenario_json(R"(, "zero_stage": 1)", R"("tp_degree": 2, "pp_degree": 2)",
                    R"("what_if": {"free": ["tensor", "pipeline"]}, )", planners),
      scenario_json(R"(, "zero_stage": 1)", "",
                    R"("variability": {"rank_spread": 0.05, "kernel_spread": 0.02, "seed": 3}, )", packers)};
  std::mt19937 generator(17);
  for (const std::string& text : scenarios) {
    CAPTURE(text.substr(0, 400));
    const TempFolder folder;
    folder.write("lengths.csv", random_lengths(generator));
    const Scenario scenario = load_scenario(folder.write("scenario.json", text), packsim_test::kData);
    const Report report = compare_strategies(scenario, {.n_threads = 2, .progress = {}});
    int n_bounds = 0;
    for (const StrategyResult& run : report.runs) {
      CAPTURE(run.name);
      const bool is_there = run.feasible && run.counts.dropped_tokens == 0;
      // The bound is of iterations of the size that was asked for.
      const bool has_bound = run.bound && run.bound->above_fraction;
      if (is_there && !has_bound) CHECK_FALSE(has_asked_iterations(run.sizes));
      if (!is_there) CHECK_FALSE(has_bound);
      if (!has_bound) continue;
      ++n_bounds;
      CHECK(*run.bound->above_fraction >= 0);
      const double even = run.times->gpu_days_without_variability.value_or(run.times->gpu_days);
      CHECK(even == Approx(run.bound->gpu_days * (1 + *run.bound->above_fraction)));
    }
    CHECK(n_bounds >= 2);
    REQUIRE_FALSE(report.bounds.empty());
    CHECK(report.bounds.front().zero_stage == scenario.plan.zero_stage);
    for (const BoundResult& bound : report.bounds) {
      const double packs_gpu_days =
          std::accumulate(bound.pack_gpu_days.begin(), bound.pack_gpu_days.end(), 0.0);
      CHECK(bound.gpu_days == Approx(packs_gpu_days + bound.steps_gpu_days + bound.waiting_gpu_days));
    }
  }
}
