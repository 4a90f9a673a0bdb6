// The facts of a schedule file as JSON: every key with every value, and what is refused.

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "plan_files/plan_facts.hpp"

namespace packsim::testing {
namespace {

using Json = nlohmann::ordered_json;

// No two facts have the same value, and none is what it is in PlanFacts{}.
const PlanFacts kFacts = {.version = "1.2",
                          .name = "hbp-32k",
                          .strategy = "hbp",
                          .scenario = "mixture",
                          .normaliser = "sum",
                          .lengths_hash = "9c",
                          .seed = 4294967295U,
                          .shuffle = false,
                          .n_gpus = 2147483647,
                          .tp_degree = 2,
                          .pp_degree = 3,
                          .ep_degree = 8,
                          .zero_stage = 4,
                          .virtual_stages = 2,
                          .checkpointing = "operations",
                          .offload = "optimizer + gradients",
                          .precision = "fp8_block",
                          .cp_exchange = "all_gather",
                          .shard_degree = 0,
                          .mlp_tiles = 22,
                          .loss_tiles = 23,
                          .epochs = 5,
                          .tokens_per_iteration = 6,
                          .over_long = OverLong::split,
                          .empty = Empty::keep,
                          .padding = Padding::multiple,
                          .pad_multiple_tokens = 7,
                          .order = PackOrder::balanced,
                          .last_iteration = LastIteration::shorten,
                          .counts = {.n_samples = 8,
                                     .n_tokens = 9223372036854775807,
                                     .dropped_samples = 10,
                                     .dropped_tokens = 11,
                                     .empty_samples = 12,
                                     .truncated_samples = 13,
                                     .truncated_tokens = 14,
                                     .split_samples = 15,
                                     .own_pack_samples = 16},
                          .dropped_packs = 17,
                          .dropped_pack_tokens = 18,
                          .repeated_packs = 19,
                          .repeated_tokens = 20,
                          .curriculum_iterations = 21};

constexpr const char* kText = R"({
  "version": "1.2",
  "name": "hbp-32k",
  "strategy": "hbp",
  "scenario": "mixture",
  "normaliser": "sum",
  "lengths_hash": "9c",
  "seed": 4294967295,
  "shuffle": false,
  "n_gpus": 2147483647,
  "tp_degree": 2,
  "pp_degree": 3,
  "ep_degree": 8,
  "zero_stage": 4,
  "virtual_stages": 2,
  "checkpointing": "operations",
  "offload": "optimizer + gradients",
  "precision": "fp8_block",
  "cp_exchange": "all_gather",
  "shard_degree": 0,
  "mlp_tiles": 22,
  "loss_tiles": 23,
  "epochs": 5,
  "tokens_per_iteration": 6,
  "over_long": "split",
  "empty": "keep",
  "padding": "multiple",
  "pad_multiple_tokens": 7,
  "order": "balanced",
  "last_iteration": "shorten",
  "n_samples": 8,
  "n_tokens": 9223372036854775807,
  "dropped_samples": 10,
  "dropped_tokens": 11,
  "empty_samples": 12,
  "truncated_samples": 13,
  "truncated_tokens": 14,
  "split_samples": 15,
  "own_pack_samples": 16,
  "dropped_packs": 17,
  "dropped_pack_tokens": 18,
  "repeated_packs": 19,
  "repeated_tokens": 20,
  "curriculum_iterations": 21
}
)";

// The facts above with another value of a key.
std::string facts_with(const std::string& key, const Json& value) {
  Json facts = Json::parse(kText);
  facts[key] = value;
  return facts.dump();
}

std::string refusal_of_facts(const std::string& text) {
  try {
    facts_from_json(text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("Every fact is written under its name, and read from there") {
  CHECK(facts_to_json(kFacts) == kText);
  CHECK(facts_from_json(kText) == kFacts);
  CHECK(facts_from_json(facts_to_json({})) == PlanFacts{});
}

TEST_CASE("Every policy is read as it is written") {
  const auto check_all = [](const auto& names, auto PlanFacts::*member) {
    for (const auto& row : names) {
      PlanFacts facts;
      facts.*member = row.value;
      CHECK(facts_from_json(facts_to_json(facts)) == facts);
    }
  };
  check_all(kOverLongNames, &PlanFacts::over_long);
  check_all(kEmptyNames, &PlanFacts::empty);
  check_all(kPaddingNames, &PlanFacts::padding);
  check_all(kPackOrderNames, &PlanFacts::order);
  check_all(kLastIterationNames, &PlanFacts::last_iteration);
}

TEST_CASE("Every fact is missed, and refused where it cannot be, by its name") {
  const Json facts = Json::parse(kText);
  std::string all_missing;
  for (const auto& [key, value] : facts.items()) {
    const std::string place = "facts: /" + key + ": expected ";
    Json fewer = facts;
    fewer.erase(key);
    // The first files do not say these.
    static const std::set<std::string> kLater = {"ep_degree",    "virtual_stages", "checkpointing",
                                                 "offload",      "precision",      "cp_exchange",
                                                 "shard_degree", "mlp_tiles",      "loss_tiles"};
    const bool is_later = kLater.contains(key);
    CHECK(refusal_of_facts(fewer.dump()) == (is_later ? "accepted" : place + "a value, got none"));
    if (!is_later) all_missing += (all_missing.empty() ? "" : "\n") + place + "a value, got none";
    CHECK_THAT(refusal_of_facts(facts_with(key, nullptr)),
               Catch::StartsWith(place) && Catch::EndsWith(", got null"));
  }
  CHECK(refusal_of_facts("{}") == all_missing);
}

TEST_CASE("A fact of another type or beyond its numbers is refused with what came") {
  const std::string expected_32_bits = "facts: /n_gpus: expected integer in 0..2147483647, got ";
  CHECK(refusal_of_facts(facts_with("n_gpus", 2147483648)) == expected_32_bits + "2147483648");
  CHECK(refusal_of_facts(facts_with("n_gpus", -1)) == expected_32_bits + "-1");
  CHECK(refusal_of_facts(facts_with("n_gpus", 1.0)) == expected_32_bits + "1.0");
  CHECK(refusal_of_facts(facts_with("n_gpus", Json::array({1}))) == expected_32_bits + "an array");
  CHECK(refusal_of_facts(facts_with("n_gpus", Json::object())) == expected_32_bits + "an object");
  CHECK(refusal_of_facts(facts_with("n_gpus", std::string(58, 'a'))) ==
        expected_32_bits + "\"" + std::string(58, 'a') + "\"");
  CHECK(refusal_of_facts(facts_with("n_gpus", std::string(60, 'a'))) ==
        expected_32_bits + "\"" + std::string(60, 'a') + "\"");
  CHECK(refusal_of_facts(facts_with("n_gpus", std::string(61, 'a'))) == expected_32_bits + "a long text");
  CHECK(refusal_of_facts(facts_with("seed", 4294967296)) ==
        "facts: /seed: expected integer in 0..4294967295, got 4294967296");
  CHECK(refusal_of_facts(facts_with("n_tokens", 9223372036854775808U)) ==
        "facts: /n_tokens: expected integer in 0..9223372036854775807, got 9223372036854775808");
  CHECK(refusal_of_facts(facts_with("shuffle", 1)) == "facts: /shuffle: expected true or false, got 1");
  CHECK(refusal_of_facts(facts_with("name", 1)) == "facts: /name: expected text, got 1");
  CHECK(refusal_of_facts(facts_with("empty", 1)) == "facts: /empty: expected text, got 1");
  CHECK(refusal_of_facts(facts_with("empty", "kept")) ==
        "facts: /empty: expected one of drop, keep, error, got \"kept\"");
  for (const char* text : {"", "[]", "1", "{", "{\"seed\": }"})
    CHECK(refusal_of_facts(text) == "facts: expected a JSON object, got something else");
}

TEST_CASE("Keys that a later version may add are left alone, whatever they hold") {
  const std::string twice_below = R"({"seed": 1, "seed": 2})";
  std::string text = kText;
  text.insert(1, "\"later\": " + twice_below + ", ");
  CHECK(facts_from_json(text) == kFacts);
}

TEST_CASE("A key that comes twice is refused, wherever it stands") {
  std::string text = kText;
  text.insert(1, "\"repeated_tokens\": 20, ");
  CHECK(refusal_of_facts(text) == "facts: expected each key once, got \"repeated_tokens\" twice");
}

TEST_CASE("Facts have at most a megabyte") {
  constexpr std::size_t kMost_bytes = 1 << 20;
  std::string text = kText;
  text.append(kMost_bytes - text.size(), ' ');
  CHECK(facts_from_json(text) == kFacts);
  CHECK(refusal_of_facts(text + " ") == "facts: expected at most 1048576 bytes, got 1048577");
}

}  // namespace packsim::testing
