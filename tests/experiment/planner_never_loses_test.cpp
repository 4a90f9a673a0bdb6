#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "experiment/compare_strategies.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/experiment/random_jobs.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

namespace {

struct Outcome {
  std::uint32_t job = 0;
  std::string best_rival = {};
  double behind = 0;       // the planner's time over the best comparable rival's, less 1
  double above_bound = 0;  // of the fastest run
};

Outcome run_job(const TempFolder& folder, std::uint32_t job) {
  packsim_test::RandomJobs random(job);
  folder.write("lengths.csv", random.lengths_csv());
  const Scenario scenario =
      load_scenario(folder.write("job.json", random.scenario("lengths.csv")), packsim_test::kData);
  const Report report = compare_strategies(scenario);
  Outcome outcome{.job = job, .above_bound = 1e9};
  const StrategyResult* planner = nullptr;
  const StrategyResult* best = nullptr;
  for (const StrategyResult& run : report.runs) {
    if (!run.times) continue;
    if (run.bound && run.bound->above_fraction)
      outcome.above_bound = std::min(outcome.above_bound, *run.bound->above_fraction);
    if (run.strategy == "planner") {
      planner = &run;
    } else if (run.differences.empty() && (best == nullptr || run.times->gpu_days < best->times->gpu_days)) {
      best = &run;
    }
  }
  if (planner == nullptr) {
    outcome.behind = best == nullptr ? 0 : 1e9;
  } else if (best != nullptr) {
    outcome.behind = planner->times->gpu_days / best->times->gpu_days - 1;
    outcome.best_rival = best->name;
  }
  return outcome;
}

}  // namespace

TEST_CASE("On random jobs the planner is never behind another strategy", "[.jobs]") {
  const char* first = std::getenv("PACKSIM_FIRST_JOB");
  const char* last = std::getenv("PACKSIM_LAST_JOB");
  const TempFolder folder;
  std::vector<Outcome> outcomes;
  for (int job = first == nullptr ? 1 : std::atoi(first); job <= (last == nullptr ? 20 : std::atoi(last));
       ++job) {
    Outcome outcome{.job = static_cast<std::uint32_t>(job)};
    try {
      outcome = run_job(folder, static_cast<std::uint32_t>(job));
    } catch (const std::exception& error) {
      std::cout << job << " error " << error.what() << "\n";
      continue;
    }
    std::cout << job << " " << outcome.best_rival << " " << outcome.behind << " bound " << outcome.above_bound
              << std::endl;
    outcomes.push_back(outcome);
  }
}

TEST_CASE("Writes a random job", "[.write]") {
  const std::uint32_t job = static_cast<std::uint32_t>(std::atoi(std::getenv("PACKSIM_FIRST_JOB")));
  packsim_test::RandomJobs random(job);
  const std::string folder = "/tmp/s/job" + std::to_string(job);
  if (std::system(("mkdir -p " + folder).c_str()) != 0) return;
  std::ofstream(folder + "/lengths.csv") << random.lengths_csv();
  std::ofstream(folder + "/job.json") << random.scenario("lengths.csv");
}
