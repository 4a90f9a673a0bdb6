#include "scenarios/loader/lengths/with_lengths.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "messages.hpp"
#include "scenario_text.hpp"
#include "scenarios/loader/json/file_text.hpp"
#include "scenarios/loader/lengths/draw_lengths.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "temp_folder.hpp"
#include "tests/shipped_data.hpp"

namespace packsim {
namespace {

using Lengths = std::vector<std::int32_t>;
using Messages = std::vector<std::string>;

Scenario scenario_with_lengths(const std::string& lengths) {
  const TempFolder folder;
  folder.write("lengths.csv", "tokens\n5\n");
  std::string text = scenario_text(R"({"strategy": "isf", "capacity_tokens": 131072})");
  const std::string before = R"({"mix": [{"source": "lengths.csv"}]})";
  text.replace(text.find(before), before.size(), lengths);
  return load_scenario(folder.write("test.json", text), packsim_test::kData);
}

}  // namespace

TEST_CASE("lengths in memory take the place of the files, which are not read") {
  const Scenario before = scenario_with_lengths(
      R"({"mix": [{"source": "lengths.csv", "weight": 1}], "count": 9, "with_replacement": true,
                        "shuffle": false})");
  const Scenario after = with_lengths(before, {{"chat", {7, 0, 16777216}}, {"code", {7}}});
  const DrawnLengths drawn = draw_lengths(after.lengths, after.seed);
  CHECK(drawn.lengths_tokens == Lengths{7, 0, 16777216, 7});
  REQUIRE(drawn.sources.size() == 2);
  CHECK(drawn.sources[0].name == "chat");
  CHECK(drawn.sources[0].n_samples == 3);
  CHECK(drawn.sources[0].n_tokens == 16777223);
  CHECK(drawn.sources[0].repeated_samples == 0);
  // 7, 0 and 2^24 as 32-bit integers, the lowest byte first.
  CHECK(drawn.sources[0].hash == hash_of(std::string_view("\7\0\0\0\0\0\0\0\0\0\0\1", 12)));
  CHECK(drawn.sources[1].hash == hash_of(std::string_view("\7\0\0\0", 4)));
}

TEST_CASE("with lengths in memory the scenario says and hashes what is run") {
  const Scenario before = scenario_with_lengths(R"({"mix": [{"source": "lengths.csv"}], "shuffle": false})");
  const Scenario after = with_lengths(before, {{"chat", {7}}});
  CHECK((*after.json)["lengths"].dump() == R"({"mix":[{"source":"chat"}],"shuffle":false})");
  CHECK(after.scenario_text == after.json->dump(2));
  CHECK(after.scenario_hash == hash_of(after.json->dump()));
  CHECK(after.name == before.name);
  CHECK(!after.lengths.shuffle);
  CHECK(with_lengths(scenario_with_lengths(R"({"mix": [{"source": "lengths.csv"}]})"), {{"chat", {7}}})
            .lengths.shuffle);
}

TEST_CASE("lengths in memory that no file could have are mistakes, all of them") {
  const Scenario scenario = scenario_with_lengths(R"({"mix": [{"source": "lengths.csv"}]})");
  CHECK(messages_of([&] {
          with_lengths(scenario, {{"chat", {7, -1, 16777217}}, {"code", {}}, {"chat", {7}}});
        }) == Messages{"chat: sample 1: expected integer in 0..16777216, got -1",
                       "chat: sample 2: expected integer in 0..16777216, got 16777217",
                       "code: all samples: expected at least one length, got none",
                       "lengths: expected another name for each source, got \"chat\" twice"});
  CHECK(messages_of([&] { with_lengths(scenario, {}); }) ==
        Messages{"lengths: expected at least one source, got none"});
  CHECK(messages_of([&] {
          with_lengths(scenario, {{"", {7}}});
        }) == Messages{"lengths: expected a name for each source, got \"\""});
}

TEST_CASE("of many bad lengths in memory ten are shown") {
  const Messages messages = messages_of([] {
    with_lengths(scenario_with_lengths(R"({"mix": [{"source": "lengths.csv"}]})"),
                 {{"chat", Lengths(1000, -1)}});
  });
  REQUIRE(messages.size() == 11);
  CHECK(messages.back() ==
        "chat: whole file: expected no mistakes, got 1000, of which the first 10 are shown");
}

}  // namespace packsim
