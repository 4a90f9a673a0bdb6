// The plan in a report, given back to a scenario, makes the same report.

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "experiment/compare_strategies.hpp"
#include "reports/formats/formats.hpp"
#include "scenarios/loader/json/plan_json.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "tests/random_plans.hpp"
#include "tests/scenarios/temp_folder.hpp"
#include "tests/shipped_data.hpp"

using namespace packsim;
using packsim_test::RandomPlans;

namespace {

const Json kStrategies = Json::parse(R"([
  {"strategy": "isf", "capacity_tokens": 16384, "sp_degree": 2},
  {"strategy": "hbp", "groups": [{"capacity_tokens": 4096}, {"capacity_tokens": 16384, "cp_degree": 2}]}])");

Scenario scenario_with(const TempFolder& folder, const Json& parallelism, const Json& strategies) {
  const Json scenario = {{"format", 1},
                         {"name", "small"},
                         {"model", "llama3.1-8b"},
                         {"cluster", {{"type", "h100-sxm-80gb"}, {"nodes", 2}}},
                         {"profile", "deepspeed-ulysses-h100"},
                         {"training", {{"tokens_per_iteration", 131072}}},
                         {"parallelism", parallelism},
                         {"lengths", {{"mix", {{{"source", "lengths.csv"}}}}}},
                         {"strategies", strategies}};
  return load_scenario(folder.write("s.json", scenario.dump()), packsim_test::kData);
}

std::string lengths_csv() {
  std::string lengths = "tokens\n";
  for (int i = 0; i < 200; ++i) lengths += std::to_string(1 + 37 * i * i % 5000) + "\n";
  return lengths;
}

bool is_possible(const Scenario& scenario, const ParallelPlan& plan) {
  for (const StrategySpec& spec : scenario.strategies) {
    for (const GroupSpec& group : spec.groups)
      if (!plan_mistakes(scenario.model, scenario.cluster, group_plan(plan, group, 0)).empty()) return false;
  }
  return true;
}

// A plan that the scenario's groups can have, with other values than the scenario's where that is possible.
ParallelPlan possible_plan(const Scenario& scenario, RandomPlans& random) {
  ParallelPlan plan = scenario.plan;
  const ParallelPlan other = random.next();
  for (const PlanKey& key : plan_keys()) {
    if (key.part != PlanPart::parallelism && key.part != PlanPart::training) continue;
    for (const PlanValue& value : {key.get(other), PlanValue(std::int64_t{2})}) {
      if (value.index() != default_value(key).index() && !key.is_list) continue;
      if (key.is_list && std::holds_alternative<std::int64_t>(value)) continue;
      ParallelPlan changed = plan;
      key.set(changed, value);
      if (is_possible(scenario, changed)) plan = changed;
    }
  }
  return plan;
}

// The strategies, with what the report says of their groups.
Json given_back(const Json& report) {
  Json strategies = kStrategies;
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    const Json& groups = report["runs"][i]["groups"];
    for (std::size_t g = 0; g < groups.size(); ++g) {
      Json& said = strategies[i].contains("groups") ? strategies[i]["groups"][g] : strategies[i];
      said["capacity_tokens"] = groups[g]["capacity_tokens"];
      for (const std::string& key : plan_key_names(PlanPart::group)) said[key] = groups[g][key];
    }
  }
  return strategies;
}

void give_back(int n_plans) {
  const TempFolder folder;
  folder.write("lengths.csv", lengths_csv());
  const Scenario base = scenario_with(folder, Json::object(), kStrategies);
  RandomPlans random(3);
  for (int i = 0; i < n_plans; ++i) {
    CAPTURE(i);
    const Json parallelism = parallelism_json(possible_plan(base, random));
    CAPTURE(parallelism.dump());
    const Json report =
        Json::parse(to_json(compare_strategies(scenario_with(folder, parallelism, kStrategies))));
    CHECK(report["manifest"]["parallelism"] == parallelism);
    const Json again = Json::parse(to_json(
        compare_strategies(scenario_with(folder, report["runs"][0]["parallelism"], given_back(report)))));
    CHECK(again["runs"] == report["runs"]);
    CHECK(again["bounds"] == report["bounds"]);
    Json own = given_back(report);
    for (std::size_t s = 0; s < own.size(); ++s) own[s]["parallelism"] = report["runs"][s]["parallelism"];
    const Json of_strategies =
        Json::parse(to_json(compare_strategies(scenario_with(folder, Json::object(), own))));
    for (std::size_t s = 0; s < own.size(); ++s) {
      CHECK(of_strategies["runs"][s]["parallelism"] == report["runs"][s]["parallelism"]);
      CHECK(of_strategies["runs"][s]["groups"] == report["runs"][s]["groups"]);
      CHECK(of_strategies["runs"][s]["gpu_days"] == report["runs"][s]["gpu_days"]);
    }
  }
}

}  // namespace

TEST_CASE("A report's plan, given back as a scenario's or a strategy's, makes the same report", "[plain]") {
  give_back(4);
}

// Hidden, as it takes minutes: build/tests/test_reports "[500 plans]".
TEST_CASE("500 reports' plans, given back, make the same reports", "[.][500 plans]") {
  give_back(500);
}
