#include "experiment/plans/strategy_mistakes.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace packsim {
namespace {

using Messages = std::vector<std::string>;

Scenario scenario_of_five() {
  Scenario scenario;
  scenario.path = "job.json";
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    scenario.strategies.emplace_back();
    scenario.strategies.back().name = name;
  }
  return scenario;
}

}  // namespace

TEST_CASE("a mistake of one strategy has its place, one of several their names") {
  const Scenario scenario = scenario_of_five();
  CHECK(messages_of(scenario, {{3, "", "no"}, {1, "padding", "bad"}}) ==
        Messages{"job.json: /strategies/3: d: no", "job.json: /strategies/1/padding: b: bad"});
  CHECK(messages_of(scenario, {{0, "", "no"}, {1, "", "other"}, {2, "", "no"}}) ==
        Messages{"job.json: /strategies: a, c: no", "job.json: /strategies/1: b: other"});
  CHECK(messages_of(scenario, {{0, "padding", "no"}, {1, "padding", "no"}, {1, "order", "no"}}) ==
        Messages{"job.json: /strategies/*/padding: a, b: no", "job.json: /strategies/1/order: b: no"});
}

TEST_CASE("of more than three strategies the first three are named") {
  std::vector<StrategyMistake> mistakes;
  for (std::size_t i = 0; i < 5; ++i) mistakes.push_back({i, "", "no"});
  mistakes.push_back({2, "", "no"});  // told twice
  CHECK(messages_of(scenario_of_five(), mistakes) ==
        Messages{"job.json: /strategies: a, b, c and 2 more: no"});
}

}  // namespace packsim
