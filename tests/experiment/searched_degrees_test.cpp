#include <array>
#include <catch2/catch.hpp>
#include <iostream>
#include <random>
#include <string>

#include "experiment/compare_strategies.hpp"
#include "experiment/search/base_plans.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/experiment/random_jobs.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

namespace {

constexpr double kMostBehind = 0.005;

// A job of random lengths whose scenario says no degree of model parallelism.
class OpenJobs {
 public:
  explicit OpenJobs(std::uint32_t number) : number_(number), generator_(number) {
    static constexpr std::array<const char*, 4> kModels = {"llama3.1-8b", "qwen2.5-7b", "qwen2.5-14b",
                                                           "qwen3-30b-a3b"};
    static constexpr std::array<const char*, 3> kStrategies = {"isf", "hbp", "planner"};
    model_ = kModels[generator_() % kModels.size()];
    strategy_ = kStrategies[generator_() % kStrategies.size()];
    nodes_ = 1 << (generator_() % 2);
    tokens_ = std::int64_t{65536} << (generator_() % 3);
  }

  std::string lengths_csv() const { return packsim_test::RandomJobs(number_).lengths_csv(); }
  // parallelism: what the scenario says of it.
  std::string scenario(const std::string& parallelism) const {
    return R"({"format": 1, "name": "job", "model": ")" + model_ +
           R"(", "cluster": {"type": "h100-sxm-80gb", "nodes": )" + std::to_string(nodes_) +
           R"(}, "profile": "any-framework-h100", "training": {"tokens_per_iteration": )" +
           std::to_string(tokens_) + R"(, "epochs": 1, "zero_stage": 1}, "parallelism": {)" + parallelism +
           R"(}, "lengths": {"mix": [{"source": "lengths.csv"}]}, "packing": {"plan": "auto", )" +
           R"("last_iteration": "shorten"}, "baseline": ")" + strategy_ +
           R"(", "strategies": [{"strategy": ")" + strategy_ + R"("}]})";
  }

 private:
  std::uint32_t number_;
  std::mt19937 generator_;
  std::string model_;
  std::string strategy_;
  int nodes_ = 1;
  std::int64_t tokens_ = 0;
};

StrategyResult run_of(const TempFolder& folder, const std::string& scenario) {
  RunOptions options;
  options.keeps_failures = true;
  return compare_strategies(load_scenario(folder.write("job.json", scenario), packsim_test::kData), options)
      .runs.front();
}

// No base plan that is given by hand is faster than the search of all, or below the bound over all.
void check_jobs(std::uint32_t first, std::uint32_t last, bool prints) {
  const TempFolder folder;
  for (std::uint32_t number = first; number <= last; ++number) {
    const OpenJobs job(number);
    folder.write("lengths.csv", job.lengths_csv());
    const Scenario scenario = load_scenario(folder.write("job.json", job.scenario("")), packsim_test::kData);
    const StrategyResult searched = run_of(folder, job.scenario(""));
    if (!searched.times) continue;
    double best_behind = 0;
    for (const ParallelPlan& base : base_plans(scenario, scenario.strategies.front())) {
      if (base.zero_stage != 1) continue;
      const std::string degrees = R"("tp_degree": )" + std::to_string(base.tp_degree) + R"(, "pp_degree": )" +
                                  std::to_string(base.pp_degree) + R"(, "ep_degree": )" +
                                  std::to_string(base.ep_degree);
      CAPTURE(number, degrees);
      const StrategyResult given = run_of(folder, job.scenario(degrees));
      const bool is_same_job = given.times && given.differences.empty() &&
                               given.counts.trained_tokens == searched.counts.trained_tokens;
      if (!is_same_job) continue;
      const double behind = searched.times->gpu_days / given.times->gpu_days - 1;
      best_behind = std::max(best_behind, behind);
      CHECK(behind <= kMostBehind);
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
  check_jobs(1, 2, false);
}

// PACKSIM_JOBS="1 300" build/tests/test_experiment "[.degrees]" prints a line for each job.
TEST_CASE("Degrees given by hand on as many random jobs as are asked for", "[.degrees]") {
  packsim_test::check_jobs_asked_for(
      [](std::uint32_t first, std::uint32_t last) { check_jobs(first, last, true); });
}
