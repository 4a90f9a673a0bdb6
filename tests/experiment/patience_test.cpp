#include "experiment/search/patience.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "experiment/search/rival_specs.hpp"
#include "packing/strategy.hpp"
#include "scenarios/scenario.hpp"

using namespace packsim;

TEST_CASE("A search ends when so many plans in a row were no better by a thousandth") {
  Patience patience;
  patience.look_at(100);
  for (int i = 1; i < Patience::kMostInRow; ++i) patience.look_at(99.95);
  CHECK_FALSE(patience.is_over());
  patience.look_at(99);  // clearly better: it begins anew
  for (int i = 1; i < Patience::kMostInRow; ++i) patience.look_at(99);
  CHECK_FALSE(patience.is_over());
  patience.look_at(99);
  CHECK(patience.is_over());
}

TEST_CASE("The planner's scouts are the first of its rivals, and only a planner has any") {
  Scenario scenario;
  StrategySpec planner;
  planner.strategy = "planner";
  const std::vector<StrategySpec> rivals = rival_specs(scenario, planner);
  const auto n = static_cast<std::size_t>(n_scouts(rivals));
  REQUIRE(n > 0);
  REQUIRE(n < rivals.size());
  for (std::size_t i = 0; i < rivals.size(); ++i) {
    const std::string& name = rivals[i].strategy;
    CAPTURE(i, name);
    CHECK((name == "bfd" || name == "hbp" || name == "flexsp") == (i < n));
  }
  StrategySpec isf;
  isf.strategy = "isf";
  CHECK(rival_specs(scenario, isf).empty());
}
