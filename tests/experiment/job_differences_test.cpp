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

// Of 1 000 tokens in each iteration, with samples of at most 400.
constexpr IterationSize kSize{1000, 400};

// Sizes of iterations with so many tokens, each a pack; in each epoch and group one may be smaller.
IterationSizes sizes_of(const std::vector<std::int64_t>& iterations_tokens, const IterationSize& size = kSize,
                        std::int64_t pack_tokens = 0) {
  std::vector<std::vector<MicroBatch>> batches(1);
  Schedule schedule;
  for (const std::int64_t tokens : iterations_tokens) {
    schedule.iterations.push_back(
        {.first_placed = static_cast<std::uint32_t>(schedule.placed.size()), .n_placed = 1});
    schedule.placed.push_back({.pack = static_cast<std::uint32_t>(batches[0].size())});
    batches[0].push_back(
        {.tokens = tokens,
         .longest_tokens = static_cast<std::int32_t>(std::min(tokens, size.longest_tokens))});
  }
  return iteration_sizes(schedule, batches, std::vector{pack_tokens}, size, 1);
}

// Ten iterations of 1 000 tokens, one epoch.
StrategyResult run_of(const std::string& name) {
  StrategyResult run{.name = name, .iterations = 10};
  run.counts.trained_tokens = 10000;
  run.counts.longest_tokens = 400;
  run.sizes = sizes_of(std::vector<std::int64_t>(10, 1000));
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
  run.sizes = sizes_of({1000, 1101, 899, 1101});
  CHECK(differences_of(run) ==
        std::vector<std::string>{"2 of 4 iterations train more than 1,100 tokens, for the 1,000 of "
                                 "tokens_per_iteration; the largest trains 1,101"});

  run = run_of("other");
  run.iterations = 20;
  run.sizes = sizes_of(std::vector<std::int64_t>(20, 500));
  CHECK(differences_of(run) ==
        std::vector<std::string>{"20 of 20 iterations train less than 600 tokens, for the 1,000 of "
                                 "tokens_per_iteration; the mean is 500"});

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

TEST_CASE("No iteration is larger than asked for by more than a tenth or the longest sample") {
  const auto has_asked = [](std::int64_t largest, const IterationSize& size) {
    return has_asked_iterations(sizes_of({1000, 1000, largest}, size));
  };
  // A tenth is less than the longest sample.
  CHECK(has_asked(1100, kSize));
  CHECK_FALSE(has_asked(1101, kSize));
  // The longest sample is less than a tenth.
  CHECK(has_asked(1020, {1000, 20}));
  CHECK_FALSE(has_asked(1021, {1000, 20}));
  // A longer sample is alone in its iteration.
  CHECK(has_asked(1500, {1000, 1500}));
  CHECK_FALSE(has_asked(1501, {1000, 1500}));
  // That does not allow large iterations of shorter samples: two of 700 tokens in one.
  Schedule schedule;
  schedule.placed = {{.pack = 0}, {.pack = 1}};
  schedule.iterations = {{.first_placed = 0, .n_placed = 2}};
  const std::vector<std::vector<MicroBatch>> batches = {
      {{.tokens = 700, .longest_tokens = 700}, {.tokens = 700, .longest_tokens = 700}}};
  CHECK_FALSE(has_asked_iterations(
      iteration_sizes(schedule, batches, std::vector<std::int64_t>{0}, {1000, 1500}, 1)));
}

TEST_CASE("Two unequal iterations whose mean is right are not those asked for") {
  // 10 and 8 194 tokens for a target of 4 097: the mean is 4 102.
  CHECK_FALSE(has_asked_iterations(sizes_of({10, 8194}, {4097, 4097})));
  CHECK(has_asked_iterations(sizes_of({4097, 4097, 10}, {4097, 4097})));
}

TEST_CASE("Iterations are smaller than asked for where the next sample has no room, and at the end") {
  // Samples of 400 tokens: an iteration of 601 has no room for one more, wherever it is.
  CHECK(has_asked_iterations(sizes_of({601, 650, 700, 620, 601})));
  CHECK(has_asked_iterations(sizes_of({601, 600, 600, 620, 100})));
  // At 599 there is room. One may be smaller, the last; here two are.
  CHECK(has_asked_iterations(sizes_of({650, 650, 650, 650, 599})));
  CHECK_FALSE(has_asked_iterations(sizes_of({650, 650, 650, 599, 599})));
  // Where a sample is as long as an iteration, two small ones that follow each other would have been one.
  CHECK(has_asked_iterations(sizes_of({990, 20, 990, 20, 990, 20}, {1000, 1000})));
  CHECK_FALSE(has_asked_iterations(sizes_of(std::vector<std::int64_t>(20, 411), {1000, 1000})));
  // Samples of 20 tokens: an iteration lacks no more than a tenth.
  CHECK(has_asked_iterations(sizes_of({900, 900, 900, 10}, {1000, 20})));
  CHECK_FALSE(has_asked_iterations(sizes_of(std::vector<std::int64_t>(20, 899), {1000, 20})));
  // A few are smaller where the mean is right to a tenth: (8 x 1 000 + 2 x 500) / 10 = 900.
  std::vector<std::int64_t> few(10, 1000);
  few[3] = few[7] = 500;
  CHECK(has_asked_iterations(sizes_of(few, {1000, 20})));
  few[7] = 499;
  CHECK_FALSE(has_asked_iterations(sizes_of(few, {1000, 20})));
  // Iterations above the size asked for do not make up for them.
  few[0] = 1020;
  CHECK_FALSE(has_asked_iterations(sizes_of(few, {1000, 20})));
}

TEST_CASE("An iteration of a number of packs has them all, however full they are") {
  // Packs of 1 000 tokens that are half full: as many steps as packs, by the rule of the trainer.
  CHECK(has_asked_iterations(sizes_of({500, 520, 480, 510}, {1000, 20}, 1000)));
  // Of 800 tokens: another size was meant.
  CHECK_FALSE(has_asked_iterations(sizes_of({500, 520, 480, 510}, {1000, 20}, 800)));
}

TEST_CASE("A job of few iterations may have one more, for each epoch or for each group and epoch") {
  // 2.2 full ones. Of four, 1.8 are missing.
  CHECK(has_asked_iterations(sizes_of({740, 730, 730}, {1000, 20})));
  CHECK_FALSE(has_asked_iterations(sizes_of({550, 550, 550, 550}, {1000, 20})));
  IterationSizes two_groups = sizes_of({550, 550, 550, 550}, {1000, 20});
  two_groups.last_iterations = 2;
  CHECK(has_asked_iterations(two_groups));
}

TEST_CASE("Groups with packs have last iterations of their own, unless iterations mix groups", "[plain]") {
  const TempFolder folder;
  const Report report = compare_strategies(scenario_of(folder, R"(
      {"strategy": "hbp", "groups": [{"capacity_tokens": 16384, "sp_degree": 1}, {"capacity_tokens": 65536, "sp_degree": 8},
                                     {"capacity_tokens": 131072, "sp_degree": 8}]},
      {"strategy": "flexsp", "groups": [{"capacity_tokens": 16384, "sp_degree": 1}, {"capacity_tokens": 65536, "sp_degree": 8}]})",
                                                       262144));
  // No sample is longer than 65 536 tokens: the third group has no packs.
  CHECK(report.runs[0].sizes.last_iterations == 2);
  CHECK(report.runs[1].sizes.last_iterations == 1);
}

TEST_CASE("No more than a hundredth of the tokens may be repeated to fill last iterations") {
  IterationSizes sizes = sizes_of(std::vector<std::int64_t>(10, 1010));
  sizes.repeated_tokens = 100;
  CHECK(has_asked_iterations(sizes));
  sizes.repeated_tokens = 101;
  CHECK_FALSE(has_asked_iterations(sizes));

  StrategyResult run = run_of("other");
  run.sizes.repeated_tokens = run.counts.repeated_tokens = 2000;
  CHECK(differences_alone(run, 8000) ==
        std::vector<std::string>{"repeats 25.0 % of its tokens to fill last iterations (\"last_iteration\": "
                                 "\"shorten\" trains them once)"});
}

// Batches of equally many samples, sorted by length, have few tokens or many.
TEST_CASE("Sorted batches whose mean alone is right are marked, and say how large the largest is") {
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
            "3 of 45 iterations train more than 72,089 tokens, for the 65,536 of tokens_per_iteration; the "
            "largest trains 589,824",
            // Each counts 65 536 tokens at most.
            "42 of 45 iterations train less than 57,344 tokens, for the 65,536 of tokens_per_iteration; the "
            "mean is 63,716"});
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
  CHECK(other.speedup->value ==
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
