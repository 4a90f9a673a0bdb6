#include "scenarios/loader/scenario_changes.hpp"

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
using Settings = std::vector<std::string>;

const std::string kIsf = R"({"strategy": "isf", "capacity_tokens": 16384},
                            {"name": "hbp-2.1", "strategy": "isf", "capacity_tokens": 32768})";

Json changed(const std::string& text, const Settings& settings) {
  Problems problems;
  Json json = Json::parse(text);
  change_scenario(json, settings, problems);
  CHECK(messages_in(problems).empty());
  return json;
}

Scenario loaded(const Settings& settings) {
  const TempFolder folder;
  folder.write("lengths.csv", "tokens\n5\n");
  return load_scenario(folder.write("test.json", scenario_text(kIsf)), packsim_test::kData, settings);
}

Messages refusals(const Settings& settings) {
  return messages_of([&] { loaded(settings); });
}

}  // namespace

TEST_CASE("A setting replaces a member or adds it, and its value is JSON or a bare word") {
  CHECK(changed(R"({"a": {"b": 1}})", {"a.b=3"}) == Json::parse(R"({"a": {"b": 3}})"));
  CHECK(changed(R"({})", {"a.b.c=true", "a.d=[1, 2]", "e=64K", "f=\"7\"", "g={\"h\": null}"}) ==
        Json::parse(R"({"a": {"b": {"c": true}, "d": [1, 2]}, "e": "64K", "f": "7", "g": {"h": null}})"));
  CHECK(changed(R"({"a": 1})", {"a=2", "a=x=y"}) == Json::parse(R"({"a": "x=y"})"));  // the last one counts
  CHECK(changed(R"({"a": [5, 6]})", {"a.1=7"}) == Json::parse(R"({"a": [5, 7]})"));
}

TEST_CASE("A strategy is named by its place or its name, which may have dots in it") {
  const Scenario scenario = loaded({"strategies.0.sp_degree=2", "strategies.isf.capacity_tokens=64K",
                                    "strategies.hbp-2.1.capacity_tokens=8k"});
  CHECK(scenario.strategies[0].groups[0].sequence.ulysses == 2);
  CHECK(scenario.strategies[0].groups[0].capacity_tokens == 65536);  // 64 x 1024
  CHECK(scenario.strategies[1].groups[0].capacity_tokens == 8192);
}

TEST_CASE("Mistakes of readers name the setting, and those of the file its place") {
  CHECK(refusals({"training.zero_stage=5", "trainig.x=1", "strategies.isf.rounds=many",
                  "packing={\"empty\": 1}"}) ==
        Messages{"--set training.zero_stage: expected integer in 0..3, got 5 (number)",
                 "--set packing/empty: expected one of drop, keep, error, got 1 (number)",
                 "--set strategies.isf.rounds: expected integer in 1..1000000, got \"many\" (string)",
                 "--set trainig.x: expected no such key (did you mean training?), got {\"x\":1} (object)"});
}

TEST_CASE("What cannot be applied is refused before anything is read") {
  CHECK(refusals({"training", "=3", "a={", "a=", "name.x=3", "a..b=1", "strategies.ifs.x=1",
                  "strategies.2.x=1"}) ==
        Messages{
            "--set: expected KEY=VALUE, such as training.zero_stage=3, got \"training\"",
            "--set: expected KEY=VALUE, such as training.zero_stage=3, got \"=3\"",
            "--set a: expected JSON, or a bare word, got \"{\"",
            "--set a: expected JSON, or a bare word, got \"\"",
            "--set name.x: expected the path of a value, through objects, got \"test\" (string) before \"x\"",
            "--set a..b: expected the path of a value, without empty names, got \"a..b\"",
            "--set strategies.ifs.x: expected 0..1, or one of isf, hbp-2.1 (did you mean isf?), got \"ifs\"",
            "--set strategies.2.x: expected 0..1, or one of isf, hbp-2.1, got \"2\""});
  // Deeper than any file may be: 64 levels.
  CHECK(refusals({"a=" + std::string(1000, '[')}).size() == 1);
}

TEST_CASE("The hash is that of the changed scenario") {
  const Scenario scenario = loaded({"training.epochs=2"});
  CHECK(scenario.training.epochs == 2);
  CHECK(scenario.scenario_hash == hash_of(scenario.json->dump()));
  CHECK((*scenario.json)["training"]["epochs"] == 2);
  CHECK(loaded({"training.epochs=2"}).scenario_hash == scenario.scenario_hash);
  CHECK(loaded({"training.epochs=3"}).scenario_hash != scenario.scenario_hash);
  CHECK(loaded({}).scenario_hash == hash_of(scenario_text(kIsf)));
}

}  // namespace packsim
