#include <algorithm>
#include <catch2/catch.hpp>
#include <iostream>
#include <string>

#include "experiment/compare_strategies.hpp"
#include "reports/settings/trainer_settings.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/experiment/random_jobs.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;

namespace {

std::string scenario_of(const std::string& trainer, const std::string& strategy) {
  return R"({"format": 1, "name": "job", "trainer": ")" + trainer +
         R"(", "model": "llama3.1-8b", "cluster": {"type": "h100-sxm-80gb", "nodes": 1},
             "profile": "any-framework-h100",
             "training": {"tokens_per_iteration": 131072, "epochs": 1, "zero_stage": 1},
             "lengths": {"mix": [{"source": "lengths.csv"}]},
             "packing": {"plan": "auto", "last_iteration": "shorten"},
             "strategies": [{"strategy": ")" +
         strategy + R"("}]})";
}

// Checks that the searched plan is one that the trainer can run. Returns whether there was one.
bool check_plan(const TempFolder& folder, const std::string& name, const std::string& strategy) {
  CAPTURE(name, strategy);
  const Scenario scenario =
      load_scenario(folder.write("job.json", scenario_of(name, strategy)), packsim_test::kData);
  const StrategyResult run =
      compare_strategies(scenario, {.only_times = true, .keeps_failures = true}).runs.front();
  if (!run.times) return false;
  const Trainer& trainer = *scenario.trainer;
  CHECK_FALSE((trainer.pack_lengths == Variety::one && run.groups.size() > 1));
  for (const PlannedGroup& group : run.groups) {
    CHECK(trainer_mistakes(&trainer, scenario.model, plan_of_group(run.plan, group)).empty());
    CHECK((trainer.degrees == Variety::many || group.sequence == run.groups.front().sequence));
    CHECK((trainer.micro_batches != MicroBatchCounts::run || group.micro_batches_per_rank.has_value()));
  }
  RunManifest manifest;
  manifest.epochs = scenario.training.epochs;
  const TrainerSettings settings =
      settings_of_trainer(trainer, trainer_job(manifest, run, scenario.model, scenario.cluster.nodes));
  CHECK(settings.refusals.empty());
  CHECK(settings.unsaid.empty());
  CHECK_FALSE(settings.files.empty());
  return true;
}

// With the planner, or where a trainer takes no plans with its own strategy. HBP is searched for every other
// trainer that takes plans, and for all where `are_many`.
void check_job(std::uint32_t number, bool are_many) {
  const TempFolder folder;
  folder.write("lengths.csv", packsim_test::RandomJobs(number).lengths_csv());
  bool takes_hbp = false;
  for (const std::string& name : names_of(kTrainerFiles, packsim_test::kData)) {
    const bool takes_plans = load_trainer(name, packsim_test::kData).takes_plans;
    const std::string own = name.starts_with("verl") ? "verl_kk" : "random";
    bool has_plan = check_plan(folder, name, takes_plans ? "planner" : own);
    takes_hbp = are_many || !takes_hbp;
    if (takes_plans && takes_hbp) has_plan = check_plan(folder, name, "hbp") || has_plan;
    std::cout << number << " " << name << (has_plan ? "" : ": no plan") << "\n";
    // Unsloth has DDP alone, which does not hold 8 billion parameters' states.
    CHECK(has_plan == (name != "unsloth"));
  }
}

}  // namespace

TEST_CASE("Every searched plan is one that the scenario's trainer can run and is told", "[slow]") {
  check_job(3, false);
}

// PACKSIM_JOBS="1 20" build/tests/test_experiment "[.trainers]" does the same for as many random jobs.
TEST_CASE("Searched plans of as many random jobs as are asked for", "[.trainers]") {
  packsim_test::check_jobs_asked_for([](std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t number = first; number <= last; ++number) check_job(number, true);
  });
}
