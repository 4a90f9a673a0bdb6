#include <catch2/catch.hpp>

#include "scenario_text.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "temp_folder.hpp"
#include "tests/shipped_data.hpp"

namespace packsim {
namespace {

using FreeNames = std::vector<std::string_view>;

Scenario load_what_if(const std::string& members) {
  const TempFolder folder;
  folder.write("lengths.csv", "tokens\n5\n");
  const std::string strategy = R"({"strategy": "isf", "capacity_tokens": 131072})";
  return load_scenario(folder.write("test.json", scenario_text(strategy, members)), packsim_test::kData);
}

}  // namespace

TEST_CASE("nothing is free unless a scenario says so") {
  for (const char* members : {"", R"("what_if": {}, )", R"("what_if": {"free": []}, )"}) {
    const Scenario scenario = load_what_if(members);
    CHECK(free_names(scenario).empty());
    CHECK(scenario.ranks_wait);
  }
}

TEST_CASE("what is free is one word or several") {
  const Scenario waiting = load_what_if(R"("what_if": {"free": "waiting"}, )");
  CHECK_FALSE(waiting.ranks_wait);
  CHECK_FALSE(waiting.profile.factors.free_exchange.any());
  const Scenario all = load_what_if(
      R"("what_if": {"free": ["waiting", "states", "pipeline", "expert", "tensor", "sequence"]}, )");
  CHECK(free_names(all) == FreeNames{"sequence", "tensor", "expert", "pipeline", "states", "waiting"});
  CHECK_FALSE(all.profile.factors.free_exchange.has(Cause::linear));
}

TEST_CASE("only exchange and waiting can be free") {
  for (const char* value : {R"("linear")", R"(["states", "optimizer"])", R"([3])", "true"}) {
    CHECK_THROWS_WITH(
        load_what_if(R"("what_if": {"free": )" + std::string(value) + "}, "),
        Catch::Contains("/what_if/free: expected one of sequence, tensor, expert, pipeline, states, waiting, "
                        "or an array of these, got "));
  }
}

}  // namespace packsim
