// Plan files through the program: what was priced when it was written is priced again, to the last bit.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "cli/shared/bus_error_guard.hpp"
#include "experiment/compare_strategies.hpp"
#include "experiment/plans/keep_strategies.hpp"
#include "experiment/plans/plan_of_file.hpp"
#include "files/file_bytes.hpp"
#include "files/write_file.hpp"
#include "plan_files/plan_view.hpp"
#include "reports/formats/formats.hpp"
#include "tests/cli/program.hpp"
#include "tests/experiment/thinned_scenarios.hpp"
#include "tests/paths.hpp"
#include "tests/plan_files/damaged_plans.hpp"

using namespace packsim;
using namespace packsim_test;
using Catch::Contains;
using nlohmann::json;

namespace {

std::string scenario_path(const std::string& name) {
  return packsim_test::source_dir() + "/scenarios/" + name + ".json";
}

// Every strategy of these scenarios, which together have all there are.
void check_replays(const std::vector<std::string>& names, std::int64_t n_iterations, bool searches_much) {
  const TempFolder folder;
  std::set<std::string> seen;
  for (const std::string& name : names) {
    Scenario scenario = thinned_scenario(scenario_path(name), n_iterations, folder);
    if (!searches_much) search_little(scenario);
    // One sample a micro-batch takes tens of times as long. What one scenario has shown need not be shown
    // again, but with pipelines and experts.
    std::erase_if(scenario.strategies, [&](const StrategySpec& spec) {
      return spec.strategy == "none" || (scenario.plan.pp_degree == 1 && seen.contains(spec.strategy));
    });
    scenario.baseline = scenario.strategies.front().name;
    const auto path_of = [&](const StrategySpec& spec) { return folder.path() + "/" + spec.name + ".plan"; };
    RunOptions options;
    options.n_threads = 2;
    options.planned = [&](const StrategySpec& spec, const PlannedStrategy& plan,
                          std::span<const std::int32_t> lengths_tokens) {
      write_file(path_of(spec), plan_file_of(scenario, spec, plan, lengths_tokens, "0", "stable"));
    };
    const json written = json::parse(to_json(compare_strategies(scenario, options)));
    for (std::size_t i = 0; i < scenario.strategies.size(); ++i) {
      const StrategySpec& spec = scenario.strategies[i];
      CAPTURE(name, spec.name);
      json expected = written["runs"][i];
      const json replayed = json::parse(to_json(replay_schedule_file(scenario, path_of(spec), {})));
      // A plan is ready when training begins and is not searched; it is its own baseline, and alone says how
      // large an iteration the bound allows.
      // A file says which strategy packed, which is another one if the planner took its packs.
      if (!expected["plan_search"].is_null())
        expected["strategy"] = expected["plan_search"]["chosen"]["strategy"];
      for (const char* key :
           {"planning_exposed_s", "gpu_days_with_planning", "speedup", "speedup_low", "speedup_high",
            "bound_gpu_days", "above_bound_fraction", "differences", "plan_search"})
        expected[key] = replayed["runs"][0][key];
      CHECK(replayed["runs"][0] == expected);
      CHECK(replayed["lengths"]["histogram"] == written["lengths"]["histogram"]);
      seen.insert(spec.strategy);
    }
  }
  for (const Strategy& strategy : strategies()) {
    CAPTURE(strategy.name);
    CHECK((seen.contains(std::string(strategy.name)) || strategy.name == "none"));
  }
}

}  // namespace

TEST_CASE("A plan file of every strategy is replayed to the same numbers", "[plain]") {
  check_replays({"all-strategies-long-requests"}, 1, false);
}

TEST_CASE("A plan file of every strategy of shipped scenarios is replayed to the same numbers", "[slow]") {
  check_replays({"llama3.1-8b-hybrid-128k", "deepseek-v2-tulu3-32k", "all-strategies-long-requests"}, 2,
                true);
}

TEST_CASE("A plan of another ZeRO stage than the scenario's is replayed at its own", "[plain]") {
  const TempFolder folder;
  Scenario scenario = thinned_scenario(scenario_path("llama3.1-8b-hybrid-128k"), 4, folder);
  keep_strategies(scenario, {"planner"});
  scenario.strategies[0].zero_stages = {1, 2, 3};
  const std::string path = folder.write("a.plan", "");
  RunOptions options;
  int zero_stage = 0;
  options.planned = [&](const StrategySpec& spec, const PlannedStrategy& plan,
                        std::span<const std::int32_t> lengths_tokens) {
    zero_stage = plan.groups.front().zero_stage;
    write_file(path, plan_file_of(scenario, spec, plan, lengths_tokens, "0", "stable"));
  };
  const Report written = compare_strategies(scenario, options);
  REQUIRE(zero_stage != scenario.plan.zero_stage);
  const Report replayed = replay_schedule_file(scenario, path, {});
  CHECK(replayed.runs[0].times->gpu_days == written.runs[0].times->gpu_days);
  CHECK(replayed.runs[0].groups[0].zero_stage == zero_stage);
}

TEST_CASE("A searched number format, exchange of keys, shard degree and tiles are those of the replay",
          "[plain]") {
  const TempFolder folder;
  Scenario scenario = thinned_scenario(scenario_path("llama3.1-8b-real-mixture-128k"), 2, folder);
  keep_strategies(scenario, {"isf"});
  search_little(scenario);
  StrategySpec& searched = scenario.strategies[0];
  searched.zero_stages = {3};
  searched.shard_degrees = {8};
  searched.precisions = {static_cast<int>(Precision::fp8_block)};
  searched.mlp_tile_counts = {2};
  searched.loss_tile_counts = {4};
  searched.cp_exchanges = {static_cast<int>(KeyExchange::all_gather)};
  const std::string path = folder.write("a.plan", "");
  RunOptions options;
  options.planned = [&](const StrategySpec& spec, const PlannedStrategy& plan,
                        std::span<const std::int32_t> lengths_tokens) {
    write_file(path, plan_file_of(scenario, spec, plan, lengths_tokens, "0", "stable"));
  };
  const Report written = compare_strategies(scenario, options);
  const Report replayed = replay_schedule_file(scenario, path, {});
  CHECK(replayed.runs[0].times->gpu_days == written.runs[0].times->gpu_days);
  CHECK(replayed.runs[0].plan.precision == Precision::fp8_block);
  CHECK(replayed.runs[0].plan.key_exchange == KeyExchange::all_gather);
  CHECK(replayed.runs[0].plan.shard_degree == 8);
  CHECK(replayed.runs[0].plan.mlp_tiles == 2);
  CHECK(replayed.runs[0].plan.loss_tiles == 4);
}

TEST_CASE("The program writes, shows and replays plans") {
  const TemporaryFolder folder;
  write_text(folder / "lengths.csv", "tokens\n100\n200\n300\n400\n500\n600\n700\n800\n");
  // 3 600 tokens in packs of 1 024: 4 packs on 4 GPUs of SP 1.
  ProgramRun run = run_shell(folder,
                             "packsim pack lengths.csv --strategy bfd --capacity 1024 --gpus 4 --epochs 3 "
                             "--gc-layers 2 --normaliser token_mean --plan a.plan");
  CHECK(run.err == "");
  CHECK(run.exit_code == 0);
  CHECK_THAT(run.out, Contains("Plan: a.plan\n"));
  run = run_shell(folder, "packsim plan a.plan");
  CHECK(run.exit_code == 0);
  CHECK_THAT(run.out, Contains("a.plan: bfd on 4 GPUs, 3 iterations in 3 epochs, 8 samples of 3,600 tokens"));
  CHECK_THAT(run.out, Contains("loss weights in the file: token_mean"));
  run = run_shell(folder, "packsim plan a.plan --check");
  CHECK(run.exit_code == 0);
  CHECK_THAT(run.out, Contains("a.plan: all that the file says is true; content hash "));
  const json shown = json::parse(run_shell(folder, "packsim plan a.plan --json").out);
  CHECK(shown["groups"] == json::parse(R"([{"capacity_tokens": 1024, "sp_degree": 1, "cp_degree": 1,
                                           "gc_layers": 2, "packs": 4, "iterations": 3}])"));
  CHECK(shown["loss_bias"].size() == 5);
  // The lengths as int32: what xxh128sum prints.
  CHECK(shown["lengths_hash"].get<std::string>().size() == 32);
}

TEST_CASE("Loss tokens of a plan are those of its file") {
  const TemporaryFolder folder;
  write_text(folder / "lengths.csv", "tokens\n10\n30\n");
  write_text(folder / "loss.csv", "tokens\n10\n30\n");
  const std::string pack = "packsim pack lengths.csv --strategy bfd --capacity 30 --gpus 2 --plan a.plan";
  CHECK(run_shell(folder, pack + " --loss-tokens loss.csv").exit_code == 0);
  const json shown = json::parse(run_shell(folder, "packsim plan a.plan --json").out);
  // A quarter of the weight is misplaced: docs/metrics.md.
  CHECK(shown["loss_bias"][1]["normaliser"] == "token_mean");
  CHECK(shown["loss_bias"][1]["misplaced_fraction"].get<double>() == Approx(0.25));
  write_text(folder / "loss.csv", "tokens\n10\n31\n");
  const ProgramRun run = run_shell(folder, pack + " --loss-tokens loss.csv");
  CHECK(run.exit_code == 2);
  CHECK(run.err == "packsim: loss_tokens[1]: expected 0..30, the length of the sample, got 31\n");
}

TEST_CASE("Plans that cannot be used are refused with the reason") {
  const TemporaryFolder folder;
  write_text(folder / "lengths.csv", "tokens\n100\n200\n");
  write_text(folder / "other.plan", "no plan");
  REQUIRE(run_shell(folder, "packsim pack lengths.csv --strategy bfd --capacity 1024 --gpus 4 --plan a.plan")
              .exit_code == 0);
  // True checksums, and two numbers that are not what the tables give.
  const std::string text = read_text(folder / "a.plan");
  testing::Bytes false_plan(reinterpret_cast<const std::byte*>(text.data()),
                            reinterpret_cast<const std::byte*>(text.data()) + text.size());
  testing::replace_in_facts(false_plan, "\"n_tokens\": 300", "\"n_tokens\": 301");
  testing::element<double>(false_plan, plan_sections::kWeights, 0) = 1e308;
  testing::rehash(false_plan);
  write_text(folder / "false.plan", {reinterpret_cast<const char*>(false_plan.data()), false_plan.size()});
  struct Row {
    const char* command;
    int exit_code;
    const char* expected;
  };
  const Row rows[] = {
      {"packsim plan other.plan", 2, "other.plan: header: expected a plan file, got a file of 7 other bytes"},
      {"packsim plan none.plan", 3, "none.plan: No such file or directory"},
      {"mkfifo pipe.plan && packsim plan pipe.plan", 2, "pipe.plan: expected a regular file, got a pipe"},
      {"packsim plan false.plan", 2, "false.plan: facts: /n_tokens: expected 300, the sum of lengths_tokens"},
      {"packsim plan false.plan --check", 2, "false.plan: weights[0]: expected "},
      {"packsim run qwen2.5-7b-short-sft-8k --plan false.plan", 2,
       "false.plan: facts: /n_tokens: expected 300"},
      {"packsim run llama3.1-8b-hybrid-128k --plan a.plan", 2,
       "a.plan: n_gpus (over tensor-parallel groups and pipelines): expected 32, as "},
      {"packsim run llama3.1-8b-hybrid-128k", 2, "expected --strategy or --plan, got neither"},
      {"packsim run llama3.1-8b-hybrid-128k --plan a.plan --strategy isf", 2, "--strategy excludes --plan"},
      {"packsim run llama3.1-8b-hybrid-128k --strategy isf --normaliser sum", 2,
       "--normaliser requires --write-plan"},
      {"packsim pack lengths.csv --strategy bfd --capacity 1024 --plan lengths.csv/a.plan", 3,
       "lengths.csv/a.plan: cannot write: Not a directory"},
      {"packsim pack lengths.csv --strategy wrapped --capacity 250 --plan b.plan --loss-tokens lengths.csv",
       2, "--loss-tokens: expected samples that are not cut"},
      {"packsim pack lengths.csv --strategy bfd --capacity 1024 --gc-layers 1,2 --plan b.plan", 2,
       "--gc-layers: expected one number, or one for each of 1 capacities, got 2"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.command);
    const ProgramRun run = run_shell(folder, row.command);
    CHECK(run.exit_code == row.exit_code);
    CHECK_THAT(run.err, Contains(row.expected));
  }
}

TEST_CASE("A mapped plan that is cut ends the program with a message, and not with a signal") {
  const TemporaryFolder folder;
  const std::string path = folder / "a.plan";
  write_text(path, std::string(1 << 20, 'a'));
  const std::string message = folder / "stderr.txt";
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (std::freopen(message.c_str(), "w", stderr) == nullptr) _exit(100);
    const FileBytes mapped(RegularFile(path), 0);
    std::filesystem::resize_file(path, 10);
    const BusErrorGuard guard(path);
    _exit(mapped.bytes().back() == std::byte{'a'} ? 101 : 102);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 3);
  CHECK(read_text(message) ==
        "packsim: " + path + ": the file was cut, or its disk failed, while it was being read\n");
}

TEST_CASE("A plan that does not fit in memory is not written for a trainer") {
  const TemporaryFolder folder;
  const json scenario = json::parse(R"({
    "format": 1, "name": "tight", "model": "llama3.1-70b", "cluster": {"type": "h100-sxm-80gb", "nodes": 1},
    "profile": "deepspeed-ulysses-h100", "lengths": {"mix": [{"source": "lengths.csv"}]},
    "training": {"tokens_per_iteration": 8192, "epochs": 1},
    "strategies": [{"name": "isf", "strategy": "isf", "capacity_tokens": 1024, "sp_degree": 1}]})");
  write_text(folder / "tight.json", scenario.dump());
  write_text(folder / "lengths.csv", "tokens\n100\n200\n");
  const ProgramRun run =
      run_shell(folder, "packsim run tight.json --strategy isf --write-plan a.plan --quiet");
  CHECK(run.exit_code == 2);
  CHECK_THAT(run.err,
             Contains("expected a plan that fits in memory for a schedule file, got one that does not"));
  CHECK(!std::filesystem::exists(folder / "a.plan"));
}

TEST_CASE("A plan whose tokens attend to other samples is not written, as plan files cannot say so") {
  const TemporaryFolder folder;
  const json scenario = json::parse(R"({
    "format": 1, "name": "naive", "model": "llama3.1-8b", "cluster": {"type": "h100-sxm-80gb", "nodes": 1},
    "profile": "deepspeed-ulysses-h100", "lengths": {"mix": [{"source": "lengths.csv"}]},
    "training": {"tokens_per_iteration": 8192, "epochs": 1, "zero_stage": 3},
    "strategies": [{"strategy": "isf", "capacity_tokens": 1024, "attention": "across_samples"}]})");
  write_text(folder / "naive.json", scenario.dump());
  write_text(folder / "lengths.csv", "tokens\n100\n200\n");
  const ProgramRun run =
      run_shell(folder, "packsim run naive.json --strategy isf --write-plan a.plan --quiet");
  CHECK(run.exit_code == 2);
  CHECK_THAT(run.err, Contains(R"(isf: expected "attention": "within_samples" for a schedule file)"));
  CHECK(!std::filesystem::exists(folder / "a.plan"));
}

TEST_CASE("A plan whose epochs have packs of their own is not written, but one epoch of it is") {
  const TemporaryFolder folder;
  json scenario = json::parse(R"({
    "format": 1, "name": "anew", "model": "llama3.1-8b", "cluster": {"type": "h100-sxm-80gb", "nodes": 1},
    "profile": "deepspeed-ulysses-h100", "lengths": {"mix": [{"source": "lengths.csv"}]},
    "training": {"tokens_per_iteration": 8192, "epochs": 3, "zero_stage": 3},
    "packing": {"repack_each_epoch": true, "seed": 7},
    "strategies": [{"strategy": "isf", "capacity_tokens": 1024}]})");
  write_text(folder / "anew.json", scenario.dump());
  write_text(folder / "lengths.csv", "tokens\n100\n200\n");
  const ProgramRun run =
      run_shell(folder, "packsim run anew.json --strategy isf --write-plan a.plan --quiet");
  CHECK(run.exit_code == 2);
  CHECK_THAT(
      run.err,
      Contains(R"(isf: expected "repack_each_epoch": false for a schedule file, whose epochs train the )"
               R"(same packs, got true and 3 epochs. Write a file for each epoch instead, with )"
               R"("epochs": 1 and the "seed" of the strategy from 7 to 9)"));
  CHECK(!std::filesystem::exists(folder / "a.plan"));
  scenario["training"]["epochs"] = 1;
  write_text(folder / "anew.json", scenario.dump());
  CHECK(run_shell(folder, "packsim run anew.json --strategy isf --write-plan a.plan --quiet").exit_code == 0);
  // The file brings its packs along, whatever the scenario says of epochs.
  CHECK(run_shell(folder, "packsim run anew.json --plan a.plan --quiet").exit_code == 0);
}

TEST_CASE("A replay counts the loss tokens of its plan, and is described as one") {
  const TemporaryFolder folder;
  write_text(folder / "lengths.csv", "tokens\n10\n30\n");
  write_text(folder / "loss.csv", "tokens\n10\n30\n");
  REQUIRE(
      run_shell(
          folder,
          "packsim pack lengths.csv --strategy bfd --capacity 30 --gpus 8 --gc-layers 28 --last-iteration "
          "shorten --plan a.plan --loss-tokens loss.csv")
          .exit_code == 0);
  const ProgramRun run =
      run_shell(folder, "packsim run qwen2.5-7b-short-sft-8k --plan a.plan --json --out r");
  REQUIRE(run.exit_code == 0);
  const json report = json::parse(run.out);
  CHECK(report["manifest"]["scenario_description"] ==
        "The plan a.plan, on the model and the cluster of this scenario");
  // Half of the weight for each of two packs, where 1/4 and 3/4 are right; six GPUs have none.
  const json& bias = report["runs"][0]["loss_bias"][1];
  CHECK(bias["misplaced_fraction"].get<double>() == Approx(0.25));
  CHECK(bias["most_sum"].get<double>() == Approx(2.0 / 8));
}
