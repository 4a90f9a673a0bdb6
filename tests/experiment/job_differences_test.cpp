#include "experiment/results/job_differences.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "experiment/compare_strategies.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;
using Catch::Matchers::Contains;

namespace {

// Ten iterations of 1 000 tokens, one epoch.
StrategyResult run_of(const std::string& name) {
  StrategyResult run{.name = name, .iterations = 10};
  run.counts.trained_tokens = 10000;
  run.counts.longest_tokens = 400;
  return run;
}

Report report_of(std::vector<StrategyResult> runs) {
  Report report;
  report.manifest.tokens_per_iteration = 1000;
  report.lengths.n_tokens = 10000;
  report.baseline = "base";
  report.runs = std::move(runs);
  set_differences(report);
  return report;
}

std::vector<std::string> differences_of(const StrategyResult& run) {
  return report_of({run_of("base"), run}).runs[1].differences;
}

// Of a row that is compared with no other.
std::vector<std::string> differences_alone(const StrategyResult& run, std::int64_t n_tokens) {
  Report report;
  report.manifest.tokens_per_iteration = 1000;
  report.lengths.n_tokens = n_tokens;
  report.baseline = "other";
  report.runs = {run};
  set_differences(report);
  return report.runs[0].differences;
}

Scenario scenario_of(const TempFolder& folder, const std::string& strategies, std::int64_t tokens,
                     const std::string& training = "") {
  std::string lengths = "tokens\n";
  for (int i = 0; i < 400; ++i) lengths += std::to_string(1 + 37 * i * i % 5000) + "\n";
  folder.write("lengths.csv", lengths + "40000\n30000\n");
  return load_scenario(folder.write("job.json", R"({"format": 1, "name": "job", "model": "llama3.1-8b",
    "cluster": {"type": "h100-sxm-80gb", "nodes": 1}, "profile": "deepspeed-ulysses-h100",
    "training": {"tokens_per_iteration": )" + std::to_string(tokens) +
                                                    training + R"(, "epochs": 1, "zero_stage": 3},
    "lengths": {"mix": [{"source": "lengths.csv"}]},
    "packing": {"over_long": "truncate", "last_iteration": "shorten"},
    "strategies": [)" + strategies + "]}"),
                       packsim_test::kData);
}

}  // namespace

TEST_CASE("A run of the same job has no differences") {
  CHECK(differences_of(run_of("same")).empty());
}

TEST_CASE("Each kind of difference is named, beyond its tolerance alone") {
  StrategyResult run = run_of("other");
  run.iterations = 9;
  run.counts.trained_tokens = 9900;  // 10 % more tokens an iteration; 1 % of the data is left out
  CHECK(differences_of(run) == std::vector<std::string>{"trains 1.0 % of the data less than base"});
  run.iterations = 9;
  run.counts.trained_tokens = 9909;
  CHECK(differences_of(run) ==
        std::vector<std::string>{
            "iterations train 1,101 tokens on average, not the 1,000 of tokens_per_iteration",
            "trains 0.9 % of the data less than base"});

  run = run_of("other");
  run.counts.largest_iteration_tokens = 2000;
  CHECK(differences_of(run).empty());
  run.counts.largest_iteration_tokens = 2001;
  CHECK(differences_of(run) ==
        std::vector<std::string>{
            "one iteration trains 2,001 tokens, more than twice the 1,000 of tokens_per_iteration"});

  run = run_of("other");
  run.counts.trained_tokens = 9950;  // 0.5 %
  CHECK(differences_of(run).empty());
  run.counts.trained_tokens = 9940;
  CHECK(differences_of(run) == std::vector<std::string>{"trains 0.6 % of the data less than base"});

  run = run_of("other");
  run.counts.longest_tokens = 401;
  CHECK(differences_of(run) ==
        std::vector<std::string>{"trains samples of up to 401 tokens, base of up to 400"});

  run = run_of("other");
  run.counts.split_samples = 3;
  run.counts.longest_tokens = 100;
  CHECK(differences_of(run) == std::vector<std::string>{"cuts 3 samples into pieces, base cuts 0"});

  run = run_of("other");
  run.overlaps_states = true;
  CHECK(differences_of(run) ==
        std::vector<std::string>{
            "overlaps gradients and weights with computation, base waits for gradients and weights"});
}

TEST_CASE("A run whose tokens attend to other samples trains another job, costs more and has no bound") {
  const TempFolder folder;
  const Report report = compare_strategies(
      scenario_of(folder, R"({"name": "base", "strategy": "isf", "capacity_tokens": 16384, "sp_degree": 4},
          {"name": "naive", "strategy": "isf", "capacity_tokens": 16384, "sp_degree": 4,
           "attention": "across_samples"})",
                  131072));
  const StrategyResult& base = report.runs[0];
  const StrategyResult& naive = report.runs[1];
  CHECK(naive.differences ==
        std::vector<std::string>{
            "lets tokens attend to other samples of their pack, base keeps attention within samples"});
  CHECK(base.differences.empty());
  CHECK(naive.packs == base.packs);
  CHECK(naive.times->gpu_days > base.times->gpu_days);
  // All packs are full, but for the last.
  CHECK(naive.balance->abr < 0.1);
  CHECK(base.bound);
  CHECK_FALSE(naive.bound);
  // All of the attention counts as work of the model.
  CHECK(naive.times->utilisation.model_flop_per_s_per_gpu * naive.times->gpu_days >
        base.times->utilisation.model_flop_per_s_per_gpu * base.times->gpu_days);
}

TEST_CASE("Runs are compared with the first that trains something where the baseline does not") {
  StrategyResult longer = run_of("longer");
  longer.counts.longest_tokens = 500;
  const Report report = report_of({{.name = "base"}, run_of("first"), longer});
  CHECK(report.runs[0].differences.empty());
  CHECK(report.runs[1].differences.empty());
  CHECK(report.runs[2].differences ==
        std::vector<std::string>{"trains samples of up to 500 tokens, first of up to 400"});
}

TEST_CASE("The planner trains the samples that its rivals train, and is marked where it is told otherwise",
          "[plain]") {
  const TempFolder folder;
  const char* rival = R"({"strategy": "isf", "capacity_tokens": 16384, "sp_degree": 4},)";
  const Report alike =
      compare_strategies(scenario_of(folder, std::string(rival) + R"({"strategy": "planner"})", 131072));
  REQUIRE(alike.runs[1].times);
  CHECK(alike.runs[1].counts.longest_tokens == 16384);
  CHECK(alike.runs[1].counts.truncated_tokens == alike.runs[0].counts.truncated_tokens);
  CHECK(alike.runs[1].differences.empty());

  const Report longer = compare_strategies(scenario_of(
      folder, std::string(rival) + R"({"strategy": "planner", "capacity_tokens": 40000})", 131072));
  CHECK(longer.runs[1].counts.longest_tokens == 40000);
  REQUIRE(longer.runs[1].differences.size() == 2);
  CHECK_THAT(longer.runs[1].differences[0], Contains("of the data more than isf"));
  CHECK(longer.runs[1].differences[1] == "trains samples of up to 40,000 tokens, isf of up to 16,384");
}

TEST_CASE("The planner keeps the tokens of an iteration where GPUs are few", "[plain]") {
  const TempFolder folder;
  // 8 GPUs; 402 samples of about a million tokens in all: 4 iterations.
  const Report report =
      compare_strategies(scenario_of(folder, R"({"strategy": "isf", "capacity_tokens": 65536, "sp_degree": 8},
                             {"strategy": "planner"})",
                                     262144));
  CHECK(report.runs[1].differences.empty());
  CHECK(report.runs[1].iterations <= report.runs[0].iterations);
}

TEST_CASE("Few iterations may end with one that is not full, for each epoch or for each group and epoch") {
  StrategyResult run = run_of("other");
  run.iterations = 3;
  run.counts.trained_tokens = 2200;
  Report report;
  report.manifest.tokens_per_iteration = 1000;
  CHECK(has_asked_iterations(report.manifest, run));  // 2.2 full ones
  run.iterations = 4;
  CHECK_FALSE(has_asked_iterations(report.manifest, run));
  run.groups.resize(20);  // of a strategy that puts packs of several groups into an iteration
  CHECK_FALSE(has_asked_iterations(report.manifest, run));
  for (PlannedGroup& group : run.groups) group.micro_batches_per_rank = 1;
  CHECK_FALSE(has_asked_iterations(report.manifest, run));  // groups without packs have no iterations
  run.groups[3].packs = run.groups[7].packs = 5;
  CHECK(has_asked_iterations(report.manifest, run));
}

TEST_CASE("One iteration may train twice as much as is asked for, or as the longest sample has") {
  IterationSizes sizes{.tokens_per_iteration = 1000,
                       .trained_tokens = 10000,
                       .largest_tokens = 2000,
                       .iterations = 10,
                       .longest_tokens = 900};
  CHECK(has_asked_iterations(sizes));
  sizes.largest_tokens = 2001;
  CHECK_FALSE(has_asked_iterations(sizes));
  // Samples of 1 500 tokens in all iterations: 3 000 for one, and 500 more on average.
  sizes.longest_tokens = 1500;
  sizes.trained_tokens = 15000;
  sizes.excess_tokens = 5000;
  sizes.largest_tokens = 3000;
  CHECK(has_asked_iterations(sizes));
  sizes.largest_tokens = 3001;
  CHECK_FALSE(has_asked_iterations(sizes));

  StrategyResult run = run_of("other");
  run.counts.trained_tokens = 15000;
  run.counts.longest_tokens = 1500;
  run.counts.excess_tokens = 5000;
  run.counts.largest_iteration_tokens = 3001;
  CHECK(differences_alone(run, 15000) ==
        std::vector<std::string>{
            "one iteration trains 3,001 tokens, more than twice the 1,500 of the longest sample"});
}

TEST_CASE("A few samples that are longer than an iteration do not allow large iterations for the others") {
  IterationSizes sizes{.tokens_per_iteration = 1000,
                       .trained_tokens = 102'000,
                       .excess_tokens = 2000,
                       .largest_tokens = 2000,
                       .iterations = 100,
                       .longest_tokens = 2000};
  // Two samples of 2 000 tokens, alone in their iterations: (102 000 - 2 x 1 000) / 100 = 1 000.
  CHECK(has_asked_iterations(sizes));
  // All iterations as long as these two: (102 000 - 2 000) / 51 = 1 961.
  sizes.iterations = 51;
  CHECK_FALSE(has_asked_iterations(sizes));
}

TEST_CASE("No more than a hundredth of the tokens may be repeated to fill last iterations") {
  IterationSizes sizes{.tokens_per_iteration = 1000,
                       .trained_tokens = 10'100,
                       .repeated_tokens = 100,
                       .largest_tokens = 1010,
                       .iterations = 10,
                       .longest_tokens = 500};
  CHECK(has_asked_iterations(sizes));
  sizes.repeated_tokens = 101;
  CHECK_FALSE(has_asked_iterations(sizes));

  StrategyResult run = run_of("other");
  run.counts.trained_tokens = 10'000;
  run.counts.repeated_tokens = 2000;
  run.counts.largest_iteration_tokens = 1000;
  CHECK(differences_alone(run, 8000) ==
        std::vector<std::string>{"repeats 25.0 % of its tokens to fill last iterations (\"last_iteration\": "
                                 "\"shorten\" trains them once)"});
}

// Batches of equally many samples, sorted by length, have few tokens or many.
TEST_CASE("Sorted batches whose mean alone is right are marked, and count the tokens of the largest") {
  const TempFolder folder;
  std::string lengths = "tokens\n";
  for (int i = 0; i < 3200; ++i) lengths += i < 160 ? "8192\n" : "512\n";
  folder.write("sorted.csv", lengths);
  const auto compare = [&](int batch_samples) {
    return compare_strategies(
        load_scenario(folder.write("sorted.json", R"({"format": 1, "name": "job", "model": "llama3.1-8b",
          "cluster": {"type": "h100-sxm-80gb", "nodes": 1}, "profile": "deepspeed-ulysses-h100",
          "training": {"tokens_per_iteration": 65536, "epochs": 1, "zero_stage": 3},
          "lengths": {"mix": [{"source": "sorted.csv"}]}, "packing": {"last_iteration": "shorten"},
          "strategies": [{"strategy": "sorted", "capacity_tokens": 131072, "sp_degree": 1, "batch_samples": )" +
                                                      std::to_string(batch_samples) + "}]}"),
                      packsim_test::kData));
  };
  // 9 samples for each of 8 GPUs: the 160 long ones fill 2 iterations, 72 x 8 192 = 589 824 tokens each, and
  // a part of a third. The other 3 040 samples are 42.2 iterations of 72 x 512 = 36 864 tokens.
  const Report report = compare(9);
  const StrategyResult& run = report.runs[0];
  CHECK(run.iterations == 45);
  CHECK(run.counts.largest_iteration_tokens == 589824);
  CHECK(static_cast<double>(run.counts.trained_tokens) / 45 == Approx(65536).epsilon(0.1));
  CHECK(run.differences ==
        std::vector<std::string>{
            "one iteration trains 589,824 tokens, more than twice the 65,536 of tokens_per_iteration"});
}

TEST_CASE("Speed-ups are for equally many tokens of the data") {
  const TempFolder folder;
  const Report report =
      compare_strategies(scenario_of(folder, R"({"strategy": "isf", "capacity_tokens": 65536, "sp_degree": 8},
                             {"name": "short", "strategy": "isf", "capacity_tokens": 4096, "sp_degree": 8})",
                                     131072));
  const auto tokens = [](const StrategyResult& run) {
    return static_cast<double>(run.counts.trained_tokens - run.counts.repeated_tokens);
  };
  const StrategyResult& base = report.runs[0];
  const StrategyResult& other = report.runs[1];
  REQUIRE(tokens(other) < tokens(base));
  CHECK(*other.speedup ==
        Approx(base.times->wall_hours / tokens(base) * tokens(other) / other.times->wall_hours));
  CHECK_FALSE(other.differences.empty());
}

TEST_CASE("One strategy's failure is its result, and the other results stand") {
  const TempFolder folder;
  const char* good = R"({"strategy": "isf", "capacity_tokens": 65536, "sp_degree": 8})";
  // FlexSP's published costs are of up to 64 GPUs for a pack.
  const char* bad = R"({"strategy": "flexsp", "costs": "published_7b", "groups": [
      {"capacity_tokens": 16384, "sp_degree": 2}, {"capacity_tokens": 65536, "sp_degree": 8, "cp_degree": 16}]})";
  const auto json = [&](const std::string& strategies) {
    std::string text = R"({"format": 1, "name": "job", "model": "llama3.1-8b",
      "cluster": {"type": "h100-sxm-80gb", "nodes": 16}, "profile": "deepspeed-ulysses-h100",
      "training": {"tokens_per_iteration": 2097152, "epochs": 1, "zero_stage": 3},
      "lengths": {"mix": [{"source": "lengths.csv"}]}, "packing": {"over_long": "truncate"}, "strategies": [)";
    return text + strategies + "]}";
  };
  scenario_of(folder, good, 131072);  // writes the lengths
  const auto compare = [&](const std::string& strategies) {
    return compare_strategies(
        load_scenario(folder.write("three.json", json(strategies)), packsim_test::kData));
  };
  const Report report = compare(std::string(good) + "," + bad);
  CHECK(report.runs[0].times.has_value());
  CHECK_FALSE(report.runs[0].failure.has_value());
  REQUIRE(report.runs[1].failure.has_value());
  CHECK_THAT(*report.runs[1].failure, Contains("no published all-to-all bandwidth for SP degree 128"));
  CHECK(report.runs[1].name == "flexsp");
  CHECK_FALSE(report.runs[1].feasible);
  CHECK_THROWS_WITH(compare(bad), Contains("/strategies/0: flexsp") &&
                                      Contains("no published all-to-all bandwidth for SP degree 128"));
}
