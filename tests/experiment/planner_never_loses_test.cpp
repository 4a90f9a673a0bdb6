#include <algorithm>
#include <catch2/catch.hpp>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "experiment/compare_strategies.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/experiment/random_jobs.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

namespace {

constexpr double kMostBehind = 0.005;

struct Outcome {
  std::uint32_t job = 0;
  std::string best_rival = {};
  double behind = 0;                       // the planner's time over the best comparable rival's, less 1
  std::optional<double> above_bound = {};  // of the fastest run
};

// A searched plan leaves the error of its estimate free.
void check_memory(const StrategyResult& run) {
  for (const PlannedGroup& group : run.groups) {
    CAPTURE(group.capacity_tokens, group.peak_memory_bytes, group.gpu_memory_bytes);
    REQUIRE(group.memory_error > 0);
    CHECK(group.peak_memory_bytes <= (1 - group.memory_error) * group.gpu_memory_bytes);
    CHECK(group.verdict == MemoryVerdict::fits);
  }
}

// None if no rival trains the job that is asked for.
std::optional<Outcome> run_job(const TempFolder& folder, std::uint32_t job) {
  packsim_test::RandomJobs random(job);
  folder.write("lengths.csv", random.lengths_csv());
  const Scenario scenario =
      load_scenario(folder.write("job.json", random.scenario("lengths.csv")), packsim_test::kData);
  const Report report = compare_strategies(scenario);
  Outcome outcome{.job = job};
  const StrategyResult* planner = nullptr;
  const StrategyResult* best = nullptr;
  for (const StrategyResult& run : report.runs) {
    CAPTURE(run.name, run.failure.value_or(""));
    // A strategy may have no plan for the job, which its row says.
    if (run.failure)
      CHECK_THAT(*run.failure, Catch::Matchers::StartsWith("plan: found none among ") ||
                                   Catch::Matchers::StartsWith("plan: expected values that megatron_"));
    if (!run.times) continue;
    check_memory(run);
    if (run.bound && run.bound->above_fraction) {
      CHECK(*run.bound->above_fraction >= 0);
      outcome.above_bound =
          std::min(outcome.above_bound.value_or(*run.bound->above_fraction), *run.bound->above_fraction);
    }
    if (run.strategy == "planner") {
      planner = &run;
    } else if (run.differences.empty() && (best == nullptr || run.times->gpu_days < best->times->gpu_days)) {
      best = &run;
    }
  }
  if (best == nullptr) return std::nullopt;
  REQUIRE(planner != nullptr);
  outcome.behind = planner->times->gpu_days / best->times->gpu_days - 1;
  outcome.best_rival = best->name;
  return outcome;
}

void check_jobs(std::uint32_t first, std::uint32_t last, bool prints) {
  const TempFolder folder;
  for (std::uint32_t job = first; job <= last; ++job) {
    CAPTURE(job);
    const std::optional<Outcome> outcome = run_job(folder, job);
    if (!outcome) continue;
    CAPTURE(outcome->best_rival);
    CHECK(outcome->behind <= kMostBehind);
    if (prints) {
      std::cout << job << " " << outcome->best_rival << " " << outcome->behind << " "
                << outcome->above_bound.value_or(-1) << std::endl;
    }
  }
}

}  // namespace

TEST_CASE("On a random job the planner is not behind another strategy, and plans leave memory free",
          "[plain]") {
  check_jobs(5, 5, false);
}

TEST_CASE("On more random jobs the planner is not behind, and plans leave memory free", "[slow]") {
  check_jobs(6, 7, false);
}

// PACKSIM_JOBS="1 1000" build/tests/test_experiment "[.jobs]" prints a line for each job: the best other
// strategy, how far the planner is behind it, and how far the fastest run is above the lower bound.
TEST_CASE("The planner on as many random jobs as are asked for", "[.jobs]") {
  packsim_test::check_jobs_asked_for(
      [](std::uint32_t first, std::uint32_t last) { check_jobs(first, last, true); });
}
