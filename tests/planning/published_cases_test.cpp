// Every case of published_cases.json: HBP's algorithms 1, 3 and 4, worked by hand before this project
// existed.

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "planning/tune/best_case.hpp"
#include "planning/tune/checkpointed_layers.hpp"
#include "planning/tune/group_lengths.hpp"
#include "tests/paths.hpp"

namespace packsim {
namespace {

using nlohmann::json;

void check_select(const json& input, const json& expected) {
  const auto listed = listed_lengths({input["l_best"], input["sp_best"]}, {input["l_max"], input["sp_max"]});
  json raw = json::array();
  for (const ListedLength& one : listed) raw.push_back(one.pack_tokens);
  CHECK(raw == expected["raw"]);
  CHECK(json(merged_lengths(listed)) == expected["groups"]);
}

void check_best(const json& input, const json& expected) {
  std::vector<ProfiledCase> cases;
  for (const json& row : input["profile"]) {
    cases.push_back({.pack_tokens = input["length"],
                     .sequence = {.ulysses = row["sp"]},
                     .gc_layers = row["gc_layers"],
                     .step_s = row["iter_s"].get<double>()});
  }
  const auto best = best_case(cases);
  REQUIRE(best.has_value());
  CHECK(best->sequence.ulysses == expected["sp"]);
  CHECK(best->gc_layers == expected["gc_layers"]);
}

void check_gc_layers(const json& input, const json& expected) {
  const FreeMemory fewest{input["c_min"], input["free_gb_at_c_min"]};
  const FreeMemory most{input["c_max"], input["free_gb_at_c_max"]};
  const auto layers = fewest_checkpointed_layers(fewest, most, input["c_max"]);
  CHECK(layers == expected["smallest_safe_integer"].get<int>());
  CHECK(layers == static_cast<int>(std::ceil(expected["raw"].get<double>())));
}

}  // namespace

TEST_CASE("every published case of HBP's choice of groups gives the published result") {
  std::ifstream file(packsim_test::source_dir() + "/tests/planning/published_cases.json");
  const json cases = json::parse(file)["cases"];
  REQUIRE(cases.size() == 7);
  for (const json& c : cases) {
    INFO(c["id"] << ": " << c["source"]);
    if (c["kind"] == "hbp_select") {
      check_select(c["input"], c["expected"]);
    } else if (c["kind"] == "hbp_best_sp_gc") {
      check_best(c["input"], c["expected"]);
    } else if (c["kind"] == "hbp_gc_layers") {
      check_gc_layers(c["input"], c["expected"]);
    } else {
      FAIL_CHECK("a kind that no check knows");
    }
  }
}

}  // namespace packsim
