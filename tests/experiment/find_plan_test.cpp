#include "experiment/search/find_plan.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <utility>

#include "experiment/compare_strategies.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;
using Catch::Matchers::Contains;

namespace {

struct SearchedJob {
  std::string model = "llama3.1-8b";
  int nodes = 1;
  std::int64_t tokens = 262144;
  int zero_stage = 3;
  std::string profile = "deepspeed-ulysses-h100";
  std::string packing = {};  // what follows in "packing"
  std::string strategies = {};
};

// For tests of something else, a smaller space.
const std::string kSavesNothing =
    R"(, "virtual_stage_counts": [1], "checkpointing_kinds": ["full"], "offloads": ["none"])";

// 400 samples of up to 5 000 tokens, one of 40 000 and one of 30 000: a million tokens, 4 iterations.
Scenario searched_scenario(const TempFolder& folder, const SearchedJob& job) {
  std::string lengths = "tokens\n";
  for (int i = 0; i < 400; ++i) lengths += std::to_string(1 + 37 * i * i % 5000) + "\n";
  folder.write("lengths.csv", lengths + "40000\n30000\n");
  return load_scenario(folder.write("job.json", R"({"format": 1, "name": "job", "model": ")" + job.model +
                                                    R"(", "cluster": {"type": "h100-sxm-80gb", "nodes": )" +
                                                    std::to_string(job.nodes) + R"(}, "profile": ")" +
                                                    job.profile + R"(", "training":
    {"tokens_per_iteration": )" + std::to_string(job.tokens) +
                                                    R"(, "zero_stage": )" + std::to_string(job.zero_stage) +
                                                    R"(}, "lengths": {"mix": [{"source": "lengths.csv"}]},
    "packing": {"last_iteration": "shorten")" + job.packing +
                                                    R"(}, "strategies": [)" + job.strategies + "]}"),
                       packsim_test::kData);
}

const StrategyResult& run_named(const Report& report, const std::string& name) {
  return *std::ranges::find(report.runs, name, &StrategyResult::name);
}

}  // namespace

TEST_CASE("A searched plan is at least as fast as every plan of its kind that a scenario can give") {
  const TempFolder folder;
  std::string strategies = R"({"name": "auto", "strategy": "isf", "plan": "auto", "zero_stages": [3]})";
  for (const int sp : {1, 2, 4, 8}) {
    // As long as the longest sample, or as the share of a rank in an iteration.
    for (const int capacity : {40000, 32768 * sp}) {
      if (capacity < 40000) continue;
      strategies += R"(, {"strategy": "isf", "name": ")" + std::to_string(sp) + "x" +
                    std::to_string(capacity) + R"(", "sp_degree": )" + std::to_string(sp) +
                    R"(, "capacity_tokens": )" + std::to_string(capacity) + "}";
    }
  }
  const Report report = compare_strategies(searched_scenario(folder, {.strategies = strategies}));
  const StrategyResult& found = report.runs.front();
  REQUIRE(found.search);
  CHECK(found.differences.empty());
  int n_compared = 0;
  for (const StrategyResult& run : report.runs) {
    if (!run.times || !run.differences.empty()) continue;
    CAPTURE(run.name, run.groups.front().gc_layers);
    CHECK(found.times->gpu_days <= run.times->gpu_days);
    ++n_compared;
  }
  CHECK(n_compared >= 4);
  // All of the data is simulated where they are few, so the search's numbers are the report's.
  CHECK(found.search->tried_tokens == report.lengths.n_tokens);
  CHECK(found.search->chosen.gpu_days == Approx(found.times->gpu_days).epsilon(1e-9));
  CHECK(found.search->usual->gpu_days >= found.search->chosen.gpu_days);
  CHECK(found.search->n_simulated + found.search->n_ruled_out + found.search->n_too_large ==
        found.search->n_candidates);
}

TEST_CASE("The packs of a searched plan may be longer than the longest sample, which over_long decides on",
          "[plain]") {
  const TempFolder folder;
  const Report report = compare_strategies(searched_scenario(
      folder,
      {.packing = R"(, "plan": "auto", "capacity_tokens": 16384, "over_long": "truncate")" + kSavesNothing,
       .strategies = R"({"strategy": "isf"}, {"strategy": "hbp"}, {"strategy": "wlb"},
                                {"strategy": "planner"})"}));
  for (const StrategyResult& run : report.runs) {
    CAPTURE(run.name);
    CHECK(run.differences.empty());
    CHECK(run.counts.longest_tokens == 16384);
    // 40 000 - 16 384 + 30 000 - 16 384
    CHECK(run.counts.truncated_tokens == 37232);
  }
}

TEST_CASE("A search keeps to the ZeRO stages that it is given, and rows with the same choice are compared",
          "[plain]") {
  const TempFolder folder;
  const Report report = compare_strategies(searched_scenario(
      folder, {.packing = kSavesNothing,
               .strategies = R"({"name": "one", "strategy": "isf", "plan": "auto", "zero_stages": [1]},
                                {"name": "three", "strategy": "isf", "plan": "auto", "zero_stages": [3]},
                                {"name": "free", "strategy": "isf", "plan": "auto"},
                                {"name": "free ffd", "strategy": "ffd", "plan": "auto", "zero_stages": [3, 2, 1]})"}));
  CHECK(run_named(report, "one").groups.front().zero_stage == 1);
  CHECK(run_named(report, "three").groups.front().zero_stage == 3);
  CHECK(run_named(report, "free").choice_of_zero_stages == std::vector<int>{1, 2, 3});
  CHECK(run_named(report, "free ffd").choice_of_zero_stages == std::vector<int>{1, 2, 3});
  const double free_gpu_days = run_named(report, "free").times->gpu_days;
  CHECK(free_gpu_days <= run_named(report, "one").times->gpu_days);
  CHECK(free_gpu_days <= run_named(report, "three").times->gpu_days);
}

TEST_CASE("A search tries the shard degrees that it is given, and those only", "[plain]") {
  const TempFolder folder;
  const Report report = compare_strategies(searched_scenario(
      folder, {.packing = kSavesNothing,
               .strategies =
                   R"({"name": "whole", "strategy": "isf", "plan": "auto", "zero_stages": [3]},
              {"name": "node", "strategy": "isf", "plan": "auto", "zero_stages": [3], "shard_degrees": [8]},
              {"name": "both", "strategy": "isf", "plan": "auto", "zero_stages": [3], "shard_degrees": [8, 0]})"}));
  CHECK(run_named(report, "whole").plan.shard_degree == 0);
  CHECK(run_named(report, "node").plan.shard_degree == 8);
  const double best =
      std::min(run_named(report, "whole").times->gpu_days, run_named(report, "node").times->gpu_days);
  CHECK(run_named(report, "both").times->gpu_days == best);
  const PlanSearch& both = *run_named(report, "both").search;
  CHECK(both.n_candidates > run_named(report, "whole").search->n_candidates);
  CHECK(both.n_candidates > run_named(report, "node").search->n_candidates);
  REQUIRE(both.usual);
  CHECK(both.usual->plan.shard_degree == 0);
}

TEST_CASE("A model that fits in no plan of the scenario gets tensor or pipeline parallelism") {
  const TempFolder folder;
  const SearchedJob job{
      .model = "llama3.1-70b",
      .nodes = 4,
      .tokens = 524288,
      .zero_stage = 1,
      .packing = R"(, "zero_stages": [1])" + kSavesNothing,
      .strategies = R"({"name": "given", "strategy": "isf", "capacity_tokens": 65536, "sp_degree": 8},
                                 {"name": "auto", "strategy": "isf", "plan": "auto"})"};
  const Report report = compare_strategies(searched_scenario(folder, job));
  CHECK_FALSE(run_named(report, "given").feasible);
  const StrategyResult& found = run_named(report, "auto");
  REQUIRE(found.feasible);
  CHECK(found.plan.tp_degree * found.plan.pp_degree > 1);
  CHECK(found.search->chosen.plan.tp_degree == found.plan.tp_degree);
}

TEST_CASE("A strategy may have a ZeRO stage and parallelism of its own") {
  const TempFolder folder;
  const Scenario scenario = searched_scenario(
      folder, {.tokens = 65536,
               .zero_stage = 1,
               .strategies = R"({"name": "base", "strategy": "isf", "capacity_tokens": 65536, "sp_degree": 8},
        {"name": "three", "strategy": "isf", "capacity_tokens": 65536, "sp_degree": 8, "zero_stage": 3},
        {"name": "tensor", "strategy": "isf", "capacity_tokens": 65536, "sp_degree": 4,
         "parallelism": {"tp_degree": 2}},
        {"name": "fp32", "strategy": "isf", "capacity_tokens": 65536, "sp_degree": 8,
         "parallelism": {"fp32_gradients": false}})"});
  const Report report = compare_strategies(scenario);
  CHECK(run_named(report, "three").groups.front().zero_stage == 3);
  // In stage 3 gradients and weights travel beside computation, which the baseline's framework does not do.
  CAPTURE(run_named(report, "three").differences);
  REQUIRE(run_named(report, "three").differences.size() == 1);
  CHECK_THAT(run_named(report, "three").differences.front(), Contains("overlaps gradients and weights"));
  CHECK(run_named(report, "tensor").plan.tp_degree == 2);
  CHECK(run_named(report, "tensor").differences.empty());
  CHECK(run_named(report, "tensor").times->shares.of(Cause::tensor) > 0);
  CHECK(run_named(report, "base").times->shares.of(Cause::tensor) == 0);
  REQUIRE(run_named(report, "fp32").differences.size() == 1);
  CHECK_THAT(run_named(report, "fp32").differences.front(),
             Contains("executes steps in another way than base"));
}

TEST_CASE("Strategies whose packs are not full accumulate as many as make up an iteration", "[plain]") {
  const TempFolder folder;
  const Report report = compare_strategies(
      searched_scenario(folder, {.packing = R"(, "plan": "auto")" + kSavesNothing,
                                 .strategies = R"({"strategy": "isf"}, {"strategy": "none"},
                                            {"strategy": "longalign_sorted"})"}));
  for (const StrategyResult& run : report.runs) {
    CAPTURE(run.name, run.iterations);
    CHECK(run.differences.empty());
  }
}

TEST_CASE("Where nothing fits, a row has the plan that lacks least memory of all that were searched") {
  const TempFolder folder;
  Scenario scenario = searched_scenario(
      folder, {.packing = kSavesNothing,
               .strategies = R"({"strategy": "isf", "plan": "auto"}, {"strategy": "planner"},
                                {"name": "given", "strategy": "isf", "plan": "auto", "zero_stages": [1],
                                 "parallelism": {"tp_degree": 1, "pp_degree": 1}})"});
  scenario.cluster.gpu.memory_bytes /= 40;
  const Report report = compare_strategies(scenario);
  const double given_bytes = run_named(report, "given").groups.front().peak_memory_bytes;
  for (const char* name : {"isf", "planner"}) {
    const StrategyResult& run = run_named(report, name);
    CAPTURE(name);
    CHECK_FALSE(run.feasible);
    CHECK(run.groups.front().peak_memory_bytes < given_bytes / 2);
  }
  CHECK(run_named(report, "given").groups.front().zero_stage == 1);
}

TEST_CASE("A strategy for which no plan fits is a row that says what is missing", "[plain]") {
  const TempFolder folder;
  const Scenario scenario = searched_scenario(
      folder, {.packing = kSavesNothing,
               .strategies = R"({"strategy": "isf", "plan": "auto"}, {"strategy": "flexsp", "plan": "auto"},
                                {"strategy": "hbp", "plan": "auto"})"});
  folder.write("lengths.csv", "tokens\n6000000\n2000\n");
  for (const StrategyResult& run : compare_strategies(scenario).runs) {
    CAPTURE(run.name);
    CHECK_FALSE(run.failure);
    CHECK_FALSE(run.feasible);
    CHECK_FALSE(run.search);
    CHECK(run.groups.front().peak_memory_bytes > run.groups.front().gpu_memory_bytes);
  }
}

TEST_CASE("Where no plan leaves the error of its estimate free, the fastest is chosen that may fit",
          "[plain]") {
  const TempFolder folder;
  // The estimate of the memory is off by up to a tenth, which no plan leaves free.
  std::string lengths = "tokens\n";
  for (int i = 0; i < 30; ++i) lengths += "25514\n";
  folder.write("lengths.csv", lengths);
  const auto scenario = [&](const std::string& keys, const std::string& packing) {
    return load_scenario(folder.write("job.json", R"({"format": 1, "name": "job", "model": "qwen3-30b-a3b",
          "cluster": {"type": "h100-sxm-80gb", "nodes": 1}, "profile": "any-framework-h100",
          "training": {"tokens_per_iteration": 262144, "zero_stage": 3}, "parallelism": {"tp_degree": 1,
          "pp_degree": 1)" + keys + R"(}, "lengths": {"mix": [{"source": "lengths.csv"}]},
          "packing": {"plan": "auto", "last_iteration": "shorten"}, "strategies": [{"strategy": "isf")" +
                                                      packing + R"(}]})"),
                         packsim_test::kData);
  };
  const StrategyResult run = compare_strategies(scenario("", kSavesNothing)).runs.front();
  REQUIRE(run.times);
  CHECK(run.groups.front().verdict == MemoryVerdict::may_not_fit);
  // How it was found is no setting of the plan.
  CHECK(run.plan.memory_margin == 0);
  REQUIRE(run.search);
  // Experts on one GPU each need as much memory under ZeRO 3, and cost much less.
  CHECK(run.plan.ep_degree > 1);
  const StrategyResult one = compare_strategies(scenario(R"(, "ep_degree": 1)", kSavesNothing)).runs.front();
  REQUIRE(one.times);
  CHECK(run.times->gpu_days < 0.8 * one.times->gpu_days);
  // A margin that the scenario asks for is kept.
  const StrategyResult asked =
      compare_strategies(scenario(R"(, "memory_margin": 0.3)", kSavesNothing)).runs.front();
  CHECK(!asked.search);
  // What surely fits goes before it: states in host memory cost time here.
  const StrategyResult fitting = compare_strategies(scenario("", "")).runs.front();
  REQUIRE(fitting.times);
  CHECK(fitting.groups.front().verdict == MemoryVerdict::fits);
  CHECK(fitting.plan.offload.any());
  CHECK(fitting.times->gpu_days > run.times->gpu_days);
}

TEST_CASE("A search tries what saves memory, and is then faster where memory is short", "[plain]") {
  const TempFolder folder;
  const Report report = compare_strategies(searched_scenario(
      folder, {.model = "qwen2.5-14b", .strategies = R"({"name": "all", "strategy": "isf", "plan": "auto"},
                                {"name": "whole layers", "strategy": "isf", "plan": "auto",
                                 "checkpointing_kinds": ["full"], "offloads": ["none"]},
                                {"name": "one kind", "strategy": "isf", "plan": "auto",
                                 "checkpointing_kinds": ["operations"], "offloads": ["optimizer"]})"}));
  const StrategyResult& all = run_named(report, "all");
  const StrategyResult& whole = run_named(report, "whole layers");
  const StrategyResult& one = run_named(report, "one kind");
  CHECK(all.times->gpu_days < 0.996 * whole.times->gpu_days);
  CHECK(all.times->gpu_days <= one.times->gpu_days);
  CHECK(all.plan.offload == Offload{.activations = true});
  CHECK(whole.plan.checkpointing == Checkpointing::full);
  CHECK_FALSE(whole.plan.offload.any());
  CHECK(one.plan.checkpointing == Checkpointing::operations);
  CHECK(one.plan.offload == Offload{.optimizer = true});
  // Each bound is over the plans that its strategy may have.
  CHECK(all.bound->gpu_days < whole.bound->gpu_days);
  CHECK(all.bound->space.ends_with("ZeRO 1-3, GC and offload"));
  CHECK(whole.bound->space.ends_with("and ZeRO 1-3"));
  CHECK(one.bound->space.ends_with("ZeRO 1-3, GC operations and offload optimizer"));
}

TEST_CASE("A search tries the number formats and tiles that it is told, and those only") {
  const TempFolder folder;
  const Report report = compare_strategies(searched_scenario(
      folder, {.model = "qwen2.5-7b",
               .packing = R"(, "plan": "auto", "zero_stages": [3], "tp_degrees": [1], "pp_degrees": [1])" +
                          kSavesNothing,
               .strategies = R"({"name": "own", "strategy": "isf"},
                        {"name": "fp8", "strategy": "isf", "precisions": ["fp8_block"]},
                        {"name": "formats", "strategy": "isf", "precisions": ["bf16", "fp8_block"]},
                        {"name": "tiled", "strategy": "isf", "mlp_tile_counts": [4], "loss_tile_counts": [8]},
                        {"name": "tiles", "strategy": "isf", "mlp_tile_counts": [1, 4],
                         "loss_tile_counts": [1, 8]}, {"strategy": "planner"})"}));
  const auto gpu_days = [&](const std::string& name) { return run_named(report, name).times->gpu_days; };
  CHECK(run_named(report, "own").plan.precision == Precision::bf16);
  CHECK(run_named(report, "own").plan.loss_tiles == 1);
  CHECK(run_named(report, "fp8").plan.precision == Precision::fp8_block);
  // It takes the others' parallelism, and not their formats.
  CHECK(run_named(report, "planner").plan.precision == Precision::bf16);
  CHECK(run_named(report, "tiled").plan.mlp_tiles == 4);
  CHECK(run_named(report, "tiled").plan.loss_tiles == 8);
  CHECK(gpu_days("formats") == std::min(gpu_days("own"), gpu_days("fp8")));
  CHECK(gpu_days("tiles") <= std::min(gpu_days("own"), gpu_days("tiled")));
  CHECK(run_named(report, "own").bound->space == "packs, SP, CP, TP 1, PP 1 and ZeRO 3");
  CHECK(run_named(report, "formats").bound->space == "packs, SP, CP, TP 1, PP 1, ZeRO 3 and precision");
  CHECK(run_named(report, "tiles").bound->space ==
        "packs, SP, CP, TP 1, PP 1, ZeRO 3, MLP tiles 1-4 and loss tiles 1-8");
  CHECK(run_named(report, "formats").bound->gpu_days < run_named(report, "own").bound->gpu_days);
  CHECK(run_named(report, "tiles").bound->gpu_days <= run_named(report, "own").bound->gpu_days);
}

TEST_CASE("A search tries the exchanges of keys and values that it is told") {
  const TempFolder folder;
  const Report told = compare_strategies(searched_scenario(
      folder, {.packing = R"(, "plan": "auto", "zero_stages": [3], "tp_degrees": [1], "pp_degrees": [1])" +
                          kSavesNothing,
               .strategies = R"({"name": "rings", "strategy": "isf"},
                        {"name": "gathers", "strategy": "isf", "cp_exchanges": ["all_gather"]},
                        {"name": "both", "strategy": "isf", "cp_exchanges": ["ring", "all_gather"]})"}));
  const auto of = [&](const std::string& name) -> const StrategyResult& { return run_named(told, name); };
  CHECK(of("both").times->gpu_days == std::min(of("rings").times->gpu_days, of("gathers").times->gpu_days));
  CHECK(of("both").bound->gpu_days <= std::min(of("rings").bound->gpu_days, of("gathers").bound->gpu_days));
  for (const StrategyResult& run : told.runs) CHECK(run.bound->gpu_days <= run.times->gpu_days);
  CHECK(of("both").bound->space.ends_with("ZeRO 3 and CP exchange"));
  CHECK(of("gathers").bound->space.ends_with("ZeRO 3 and CP exchange all_gather"));
  // Plans in which no GPUs share documents are tried once.
  CHECK(of("both").search->n_candidates <
        of("rings").search->n_candidates + of("gathers").search->n_candidates);
}

TEST_CASE("A search that ends at its time limit has a plan, says so, and is above the bound") {
  const TempFolder folder;
  const Report report =
      compare_strategies(searched_scenario(folder, {.packing = R"(, "plan": "auto")" + kSavesNothing,
                                                    .strategies = R"({"name": "whole", "strategy": "isf"},
                        {"name": "cut", "strategy": "isf", "search_time_limit_s": 1e-9},
                        {"name": "long", "strategy": "isf", "search_time_limit_s": 1e9},
                        {"name": "planner", "strategy": "planner", "search_time_limit_s": 1e-9})"}));
  const auto of = [&](const std::string& name) -> const StrategyResult& { return run_named(report, name); };
  CHECK_FALSE(of("whole").search->is_cut_short);
  CHECK_FALSE(of("long").search->is_cut_short);
  CHECK(of("long").times->gpu_days == of("whole").times->gpu_days);
  for (const char* name : {"cut", "planner"}) {
    const StrategyResult& cut = of(name);
    CAPTURE(name);
    CHECK(cut.search->is_cut_short);
    CHECK(cut.search->n_given_up + cut.search->n_bases_given_up > 0);
    CHECK(cut.search->n_simulated < of("whole").search->n_simulated);
    CHECK(cut.bound->gpu_days == of("whole").bound->gpu_days);
    CHECK(cut.bound->gpu_days <= cut.times->gpu_days);
  }
  CHECK(of("cut").times->gpu_days >= of("whole").times->gpu_days);
}

TEST_CASE("A plan with states in host memory has beside it what may fit without", "[plain]") {
  const TempFolder folder;
  Scenario scenario = searched_scenario(
      folder, {.profile = "any-framework-h100",
               .packing = R"(, "plan": "auto", "zero_stages": [3], "tp_degrees": [1], "pp_degrees": [1],
                               "checkpointing_kinds": ["full"], "offloads": ["none", "optimizer"])",
               .strategies = R"({"strategy": "isf"})"});
  const auto searched = [&](double memory_bytes) {
    scenario.cluster.gpu.memory_bytes = std::llround(memory_bytes);
    return compare_strategies(scenario).runs.front();
  };
  // The least with which a plan fits: the optimizer is on the host, and could not be elsewhere.
  double enough_bytes = 16e9;
  StrategyResult enough = searched(enough_bytes);
  while (!enough.feasible) enough = searched(enough_bytes *= 1.05);
  CHECK(enough.plan.offload.optimizer);
  CHECK_FALSE(enough.search->may_fit);
  // The least of which so much is left free that it may stay on the GPU.
  StrategyResult less;
  while (enough.plan.offload.optimizer) less = std::exchange(enough, searched(enough_bytes *= 1.05));
  CHECK_FALSE(enough.search->may_fit);
  // With a little less, the same plan may fit, and the optimizer on the host takes longer.
  REQUIRE(less.search->may_fit);
  CHECK(less.plan.offload.optimizer);
  CHECK_FALSE(less.search->may_fit->plan.offload.optimizer);
  CHECK(1.05 * less.search->may_fit->gpu_days < less.times->gpu_days);
  CHECK(less.search->may_fit->gpu_days <= enough.times->gpu_days);
}

TEST_CASE("Values that model and cluster do not allow are refused with the reason") {
  const TempFolder folder;
  const Scenario scenario = searched_scenario(
      folder, {.strategies = R"({"strategy": "isf", "plan": "auto", "tp_degrees": [8], "pp_degrees": [3]})"});
  CHECK_THROWS_WITH(compare_strategies(scenario),
                    Contains("plan: expected values that the model and the cluster allow, got none: ") &&
                        Contains("pp_degree"));
}

TEST_CASE("A search leaves out what the code of a strategy cannot run") {
  const TempFolder folder;
  const std::string hybrid = R"({"strategy": "megatron_hybrid_cp", "plan": "auto"})";
  const Report report = compare_strategies(searched_scenario(
      folder, {.nodes = 2,
               .packing = kSavesNothing,
               .strategies = hybrid + R"(, {"strategy": "megatron_dynamic_cp", "plan": "auto"})"}));
  for (const StrategyResult& run : report.runs) CHECK(run.plan.zero_stage <= 1);
  CHECK(report.runs.front().plan.pp_degree == 1);
  const Scenario latent =
      searched_scenario(folder, {.model = "deepseek-v2", .zero_stage = 1, .strategies = hybrid});
  CHECK_THROWS_WITH(compare_strategies(latent),
                    Contains("plan: expected values that megatron_hybrid_cp can run (ZeRO 0 to 1, no "
                             "pipelines, no latent attention), got none"));
}
