#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <iostream>
#include <map>
#include <optional>
#include <string>

#include "experiment/compare_strategies.hpp"
#include "experiment/results/iteration_sizes.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/experiment/random_jobs.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

namespace {

constexpr double kMostSlower = 0.002;

std::string times(const std::string& key, double value, double factor) {
  return ", \"" + key + "\": " + std::to_string(std::llround(factor * value));
}

// The run where it trains the job that was asked for.
std::optional<StrategyResult> run_with(const TempFolder& folder, const std::string& scenario) {
  RunOptions options;
  options.keeps_failures = true;
  options.only_times = true;
  const Scenario job = load_scenario(folder.write("job.json", scenario), packsim_test::kData);
  StrategyResult run = compare_strategies(job, options).runs.front();
  if (!run.times || !run.feasible) return std::nullopt;
  return run;
}

// Jobs that have more of something take no longer.
void check_more_of(std::uint32_t first, std::uint32_t last, bool prints) {
  const TempFolder folder;
  for (std::uint32_t number = first; number <= last; ++number) {
    const packsim_test::OpenJob job(number);
    folder.write("lengths.csv", job.lengths_csv());
    const Cluster cluster =
        load_scenario(folder.write("job.json", job.scenario()), packsim_test::kData).cluster;
    const auto memory_bytes = static_cast<double>(cluster.gpu.memory_bytes);
    struct Pair {
      const char* name;
      std::string less;
      std::string more;
    };
    const std::array<Pair, 9> pairs = {{
        {"memory by 2 %", job.scenario(), job.scenario("", times("gpu_memory_bytes", memory_bytes, 1.02))},
        {"memory by half", job.scenario(), job.scenario("", times("gpu_memory_bytes", memory_bytes, 1.5))},
        {"network cards", job.scenario("", ", \"nic_bytes_per_s\": 25000000000"),
         job.scenario("", ", \"nic_bytes_per_s\": 50000000000")},
        {"links in a node", job.scenario("", ", \"nvlink_bytes_per_s\": 225000000000"),
         job.scenario("", ", \"nvlink_bytes_per_s\": 450000000000")},
        {"tensor parallelism", job.scenario("", "", ", \"tp_degrees\": [1]"), job.scenario()},
        {"ZeRO stages", job.scenario("", "", ", \"zero_stages\": [1]"), job.scenario()},
        {"virtual stages", job.scenario("", "", ", \"virtual_stage_counts\": [1]"), job.scenario()},
        {"checkpointing", job.scenario("", "", ", \"checkpointing_kinds\": [\"full\"]"), job.scenario()},
        {"offloads", job.scenario("", "", ", \"offloads\": [\"none\"]"), job.scenario()},
    }};
    std::map<std::string, std::optional<StrategyResult>> known;
    const auto run_of = [&](const std::string& scenario) -> const std::optional<StrategyResult>& {
      const auto [run, is_new] = known.try_emplace(scenario);
      if (is_new) run->second = run_with(folder, scenario);
      return run->second;
    };
    for (const Pair& pair : pairs) {
      const std::optional<StrategyResult>& less = run_of(pair.less);
      const std::optional<StrategyResult>& more = run_of(pair.more);
      if (!less) continue;
      CAPTURE(number, pair.name);
      REQUIRE(more);
      // Another job may take longer, and so may what surely fits where the other may not.
      const bool is_same_job = has_asked_iterations(less->sizes) == has_asked_iterations(more->sizes) &&
                               less->counts.trained_tokens == more->counts.trained_tokens &&
                               less->counts.repeated_tokens == more->counts.repeated_tokens &&
                               less->groups.front().verdict == more->groups.front().verdict;
      const double slower = more->times->gpu_days / less->times->gpu_days - 1;
      if (prints)
        std::cout << number << " " << more->strategy << " " << pair.name << " " << slower
                  << (is_same_job ? slower > kMostSlower ? " SLOWER" : "" : " another job") << std::endl;
      if (is_same_job) CHECK(slower <= kMostSlower);
    }
  }
}

}  // namespace

TEST_CASE("With more memory, faster links or more to choose from, a searched job takes no longer", "[slow]") {
  check_more_of(1, 1, false);
}

// PACKSIM_JOBS="1 300" build/tests/test_experiment "[.monotonic]" prints a line for each pair of a job.
TEST_CASE("Jobs with more of something, as many as are asked for", "[.monotonic]") {
  packsim_test::check_jobs_asked_for(
      [](std::uint32_t first, std::uint32_t last) { check_more_of(first, last, true); });
}
