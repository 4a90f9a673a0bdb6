#include <catch2/catch.hpp>
#include <iostream>
#include <string>

#include "experiment/compare_strategies.hpp"
#include "experiment/search/base_plans.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/experiment/random_jobs.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

namespace {

constexpr double kMostBehindDegrees = 0.005;

StrategyResult searched_run_of(const TempFolder& folder, const std::string& scenario) {
  RunOptions options;
  options.keeps_failures = true;
  return compare_strategies(load_scenario(folder.write("job.json", scenario), packsim_test::kData), options)
      .runs.front();
}

// No base plan that is given by hand is faster than the search of all, or below the bound over all.
void check_degrees(std::uint32_t first, std::uint32_t last, bool prints) {
  const TempFolder folder;
  for (std::uint32_t number = first; number <= last; ++number) {
    const packsim_test::OpenJob job(number);
    folder.write("lengths.csv", job.lengths_csv());
    const Scenario scenario = load_scenario(folder.write("job.json", job.scenario("")), packsim_test::kData);
    const StrategyResult searched = searched_run_of(folder, job.scenario(""));
    if (!searched.times) continue;
    double best_behind = 0;
    for (const ParallelPlan& base : base_plans(scenario, scenario.strategies.front())) {
      if (base.zero_stage != 1 || base != root_of(base)) continue;
      const std::string degrees = R"("tp_degree": )" + std::to_string(base.tp_degree) + R"(, "pp_degree": )" +
                                  std::to_string(base.pp_degree) + R"(, "ep_degree": )" +
                                  std::to_string(base.ep_degree);
      CAPTURE(number, degrees);
      const StrategyResult given = searched_run_of(folder, job.scenario(degrees));
      const bool is_same_job = given.times && given.differences.empty() &&
                               given.counts.trained_tokens == searched.counts.trained_tokens;
      if (!is_same_job) continue;
      const double behind = searched.times->gpu_days / given.times->gpu_days - 1;
      best_behind = std::max(best_behind, behind);
      CHECK(behind <= kMostBehindDegrees);
      if (searched.bound) CHECK(searched.bound->gpu_days <= given.times->gpu_days);
    }
    if (prints)
      std::cout << number << " " << searched.strategy << " TP " << searched.plan.tp_degree << " PP "
                << searched.plan.pp_degree << " EP " << searched.plan.ep_degree << " behind " << best_behind
                << std::endl;
  }
}

}  // namespace

TEST_CASE("No degree of model parallelism given by hand is faster than the search, or below the bound",
          "[slow]") {
  check_degrees(2, 2, false);
}

// PACKSIM_JOBS="1 300" build/tests/test_experiment "[.degrees]" prints a line for each job.
TEST_CASE("Degrees given by hand on as many random jobs as are asked for", "[.degrees]") {
  packsim_test::check_jobs_asked_for(
      [](std::uint32_t first, std::uint32_t last) { check_degrees(first, last, true); });
}
