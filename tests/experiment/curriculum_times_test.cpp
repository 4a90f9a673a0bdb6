// What a curriculum does to step times: short steps first, then the same mixture to the end.

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "experiment/compare_strategies.hpp"
#include "experiment/plans/keep_strategies.hpp"
#include "experiment/plans/plan_strategy.hpp"
#include "experiment/pricing/price_strategy.hpp"
#include "sim/run/simulate.hpp"
#include "tests/experiment/thinned_scenarios.hpp"

namespace packsim {
namespace {

using packsim_test::thinned_scenario;

std::vector<double> step_times_s(const Scenario& scenario, const std::string& name, std::int64_t curriculum) {
  StrategySpec spec = *std::ranges::find(scenario.strategies, name, &StrategySpec::name);
  spec.curriculum_iterations = curriculum;
  const DrawnLengths drawn = draw_lengths(scenario.lengths, scenario.seed);
  const PlannedStrategy plan = plan_strategy(scenario, spec, drawn.lengths_tokens);
  const PricedStrategy priced = price_strategy(scenario, plan);
  return simulate(plan.schedule, priced.groups, simulation_options(scenario, nullptr)).step_s;
}

double mean_of(const std::vector<double>& times_s, std::size_t first, std::size_t end) {
  const auto begin = times_s.begin();
  return std::reduce(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(end)) /
         static_cast<double>(end - first);
}

struct Means {
  double first_s;  // of the curriculum
  double next_s;   // of the n_next steps behind it
  double rest_s;   // of all steps behind these
};

Means means_of(const std::vector<double>& times_s, std::size_t curriculum, std::size_t n_next) {
  return {.first_s = mean_of(times_s, 0, curriculum),
          .next_s = mean_of(times_s, curriculum, curriculum + n_next),
          .rest_s = mean_of(times_s, curriculum + n_next, times_s.size())};
}

const std::string kHbpJob = packsim_test::source_dir() + "/scenarios/llama3.1-8b-hybrid-128k.json";

}  // namespace

TEST_CASE("after a curriculum of 500 iterations, HBP and ISF go on as they end") {
  const Scenario scenario = load_scenario(kHbpJob, packsim_test::kData);
  for (const char* name : {"hbp", "isf"}) {
    const Means means = means_of(step_times_s(scenario, name, 500), 500, 100);
    CAPTURE(name, means.first_s, means.next_s, means.rest_s);
    CHECK(means.first_s <= 0.9 * means.rest_s);
    CHECK(means.next_s == Approx(means.rest_s).epsilon(0.15));
  }
}

TEST_CASE("whatever forms the iterations, those of a curriculum are at least a tenth shorter than the rest") {
  const TempFolder folder;
  const Scenario scenario = thinned_scenario(kHbpJob, 165, folder);
  for (const char* name : {"hbp", "isf", "hierarchical", "ffd", "planner"}) {
    const std::vector<double> plain_s = step_times_s(scenario, name, 0);
    const std::vector<double> times_s = step_times_s(scenario, name, 50);
    REQUIRE(times_s.size() == plain_s.size());
    const double first_s = mean_of(times_s, 0, 50);
    const double rest_s = mean_of(times_s, 50, times_s.size());
    CAPTURE(name);
    CHECK(first_s <= 0.9 * rest_s);
  }
}

TEST_CASE("a curriculum longer than the epoch is that strategy's failure, with the most that there can be") {
  const TempFolder folder;
  Scenario scenario = thinned_scenario(kHbpJob, 20, folder);
  keep_strategies(scenario, {"isf", "hbp"});
  scenario.strategies.front().curriculum_iterations = 1000;
  const Report report = compare_strategies(scenario, {});
  CHECK(report.runs[0].failure.value_or("none").starts_with("curriculum_iterations: expected at most "));
  CHECK(report.runs[0].failure->ends_with("whole iterations of the strategy in an epoch, got 1000"));
  CHECK(report.runs[1].times);

  keep_strategies(scenario, {"isf"});
  CHECK_THROWS_WITH(
      compare_strategies(scenario, {}),
      Catch::StartsWith(scenario.path + ": /strategies/0: isf: curriculum_iterations: expected "));
}

}  // namespace packsim
