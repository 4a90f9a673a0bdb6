// The planner on every scenario that is shipped, on part of its data.

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "experiment/compare_strategies.hpp"
#include "tests/experiment/thinned_scenarios.hpp"

using namespace packsim;
using namespace packsim_test;

namespace {

// Scenarios with most strategies at a plan that is searched take long.
bool searches_most(const Scenario& scenario) {
  return 2 * std::ranges::count_if(scenario.strategies, &StrategySpec::searches_plan) >
         std::ssize(scenario.strategies);
}

// The planner and an eighth of the others. Scenarios take turns, so that many strategies are searched.
void keep_an_eighth(Scenario& scenario, std::size_t turn) {
  constexpr std::size_t kTurns = 8;
  std::size_t n_others = turn;
  std::erase_if(scenario.strategies, [&](const StrategySpec& spec) {
    return spec.strategy != "planner" && n_others++ % kTurns != 0;
  });
  scenario.baseline = "planner";
}

void check_planner_is_first(bool are_searched) {
  constexpr std::int64_t kIterations = 3;
  const TempFolder folder;
  const std::vector<std::string> paths = shipped_scenarios();
  REQUIRE(paths.size() >= 16);
  std::size_t n_searched = 0;
  for (const std::string& path : paths) {
    CAPTURE(path);
    Scenario scenario = thinned_scenario(path, kIterations, folder);
    if (searches_most(scenario) != are_searched) continue;
    if (are_searched) keep_an_eighth(scenario, n_searched++);
    scenario.variability = {};
    scenario.failures.reset();
    scenario.training.epochs = 1;
    // One sample a micro-batch takes tens of times as long.
    std::erase_if(scenario.strategies, [](const StrategySpec& spec) { return spec.strategy == "none"; });
    // In few iterations, packs that are repeated weigh so much that runs are not compared.
    for (StrategySpec& spec : scenario.strategies) {
      if (!base_plan(scenario, spec).schedule().needs_full_rounds)
        spec.last_iteration = LastIteration::shorten;
    }
    RunOptions options;
    options.n_threads = 2;
    const Report report = compare_strategies(scenario, options);
    const auto planner = std::ranges::find(report.runs, "planner", &StrategyResult::name);
    REQUIRE(planner != report.runs.end());
    REQUIRE(planner->feasible);
    for (const StrategyResult& run : report.runs) {
      // What trains another job may take less.
      if (!run.times || run.strategy == "planner" || !run.differences.empty()) continue;
      CAPTURE(run.name);
      CHECK(planner->times->gpu_days <= run.times->gpu_days);
    }
  }
}

}  // namespace

TEST_CASE(
    "no strategy of a shipped scenario that gives plans takes less time than the planner in 3 iterations",
    "[plain]") {
  check_planner_is_first(false);
}

TEST_CASE("no strategy of a shipped scenario that searches plans takes less time than the planner",
          "[slow]") {
  check_planner_is_first(true);
}
