// The rows of docs/scenarios.md for policies and for the keys of "training" are those of their records.

#include <catch2/catch.hpp>
#include <fstream>
#include <iostream>
#include <sstream>

#include "packing/policies/policy_table.hpp"
#include "scenarios/training_keys.hpp"
#include "tests/paths.hpp"

using namespace packsim;

namespace {

std::string policy_default(const Policy& policy) {
  if (!policy.default_text.empty()) return std::string(policy.default_text);
  const std::string text = text_of(policy.get(Policies{}));
  return policy.option.type == OptionType::word ? "`" + text + "`" : text;
}

std::string policy_rows() {
  std::string rows;
  for (const Policy& policy : kPolicies) {
    rows += "| `" + std::string(policy.option.name) + "` | " + std::string(policy.option.text) + " | " +
            policy_default(policy) + " |\n";
  }
  return rows;
}

std::string training_row(const Option& option, const std::string& usual) {
  return "| `" + std::string(option.name) + "` | " + std::string(option.text) + " | " + usual + " |\n";
}

std::string training_rows() {
  return training_row(kTokensPerIterationKey, "required") +
         training_row(kEpochsKey, text_of(default_value(kEpochsKey)));
}

}  // namespace

TEST_CASE("docs/scenarios.md has a row for each policy and each key of training") {
  std::ifstream file(packsim_test::source_dir() + "/docs/scenarios.md");
  std::ostringstream page;
  page << file.rdbuf();
  for (const std::string& rows : {policy_rows(), training_rows()}) {
    const bool has_rows = page.str().find(rows) != std::string::npos;
    CHECK(has_rows);
    if (!has_rows) std::cout << "docs/scenarios.md should have:\n" << rows;
  }
}

TEST_CASE("A policy gives back what it was set to") {
  for (const Policy& policy : kPolicies) {
    CAPTURE(policy.option.name);
    Policies policies;
    const OptionValue usual = default_value(policy.option);
    CHECK(accepts(policy.option, usual));
    std::vector<OptionValue> values = {usual};
    if (policy.option.type == OptionType::boolean) values = {true, false};
    if (policy.option.type == OptionType::integer) values = {policy.option.least, policy.option.most};
    if (policy.option.type == OptionType::word) {
      for (const std::string_view word : policy.option.words()) values.emplace_back(std::string(word));
    }
    for (const OptionValue& value : values) {
      policy.set(policies, value);
      CHECK(policy.get(policies) == value);
    }
  }
}
