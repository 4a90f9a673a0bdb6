#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "messages.hpp"
#include "scenario_text.hpp"
#include "scenarios/loader/json/file_text.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "temp_folder.hpp"
#include "tests/shipped_data.hpp"

namespace packsim {
namespace {

using Messages = std::vector<std::string>;
using packsim_test::kData;

const std::string kOneStrategy = R"({"strategy": "isf", "capacity_tokens": 131072})";

// With lengths that are shipped, so that they are found from any folder.
std::string text_in_memory(const std::string& strategy) {
  std::string text = scenario_text(strategy);
  return text.replace(text.find("lengths.csv"), std::string("lengths.csv").size(), "gsm8k.csv");
}

}  // namespace

TEST_CASE("a scenario that no file holds is read as one that a file does") {
  const TempFolder folder;
  const Scenario in_memory = load_scenario_text(text_in_memory(kOneStrategy), "dict", kData);
  const Scenario from_file = load_scenario(folder.write("test.json", text_in_memory(kOneStrategy)), kData);
  CHECK(in_memory.path == "dict");
  CHECK(in_memory.scenario_text == from_file.scenario_text);
  CHECK(in_memory.strategies.front().groups == from_file.strategies.front().groups);
}

TEST_CASE("the hash of a scenario that no file holds does not depend on how its text is laid out") {
  const Scenario scenario = load_scenario_text(text_in_memory(kOneStrategy), "dict", kData);
  const std::string one_line = scenario.json->dump();
  CHECK(scenario.scenario_hash == hash_of(one_line));
  CHECK(load_scenario_text(one_line, "dict", kData).scenario_hash == scenario.scenario_hash);
}

TEST_CASE("mistakes in a scenario that no file holds have its name, and those of settings theirs") {
  CHECK(messages_of([] {
          load_scenario_text(text_in_memory(R"({"strategy": "isf", "capacity_tokens": 0})"), "dict", kData);
        }) ==
        Messages{"dict: /strategies/0/capacity_tokens: expected integer in 1..16777216, got 0 (number)"});
  const std::vector<std::string> settings = {"cluster.nodes=0"};
  CHECK(messages_of([&] { load_scenario_text(text_in_memory(kOneStrategy), "dict", kData, settings); }) ==
        Messages{"--set cluster.nodes: expected integer in 1..65536, got 0 (number)"});
  CHECK(messages_of([] { load_scenario_text("{", "dict", kData); }).size() == 1);
}

}  // namespace packsim
