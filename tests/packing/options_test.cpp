// Options of strategies: their records are sound, pack() holds to them, and docs/strategies.md shows them.

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "packing/pack.hpp"
#include "tests/option_cases.hpp"
#include "tests/paths.hpp"

namespace packsim {
namespace {

const std::vector<std::int32_t> kOptionLengths = {5, 3, 2, 7, 4};

// What pack() says to one option, "accepted" where it takes it.
std::string answer_of_pack(const Strategy& strategy, const OptionValues& options) {
  BatchSetting setting{.groups = {{.capacity_tokens = 1024}}, .n_gpus = 1, .tokens_per_iteration = 64};
  PackRequest request{.lengths_tokens = kOptionLengths, .capacities_tokens = {1024}, .options = options};
  if (strategy.forms_iterations()) request.setting = &setting;
  try {
    if (strategy.needs_prices) {
      check_request(strategy.name, request);
    } else {
      pack(strategy.name, request);
    }
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

std::string shown_value(const OptionValue& value) {
  return std::holds_alternative<std::string>(value) ? "\"" + text_of(value) + "\"" : text_of(value);
}

std::string markdown_row(const Option& option) {
  std::string readers;
  for (const Strategy& strategy : strategies()) {
    if (find_option(strategy, option.name) != nullptr)
      readers += (readers.empty() ? "" : ", ") + std::string(strategy.name);
  }
  return "| `" + std::string(option.name) + "` | " + std::string(option.text) + " | " + expected_of(option) +
         " | " + text_of(default_value(option)) + " | " + readers + " |\n";
}

}  // namespace

TEST_CASE("a record has a name of its own in its strategy, a sentence, and accepts its default") {
  std::map<std::string_view, const Option*> of_name;
  for (const Strategy& strategy : strategies()) {
    std::vector<std::string_view> names;
    for (const Option* option : strategy.options) {
      CAPTURE(strategy.name, option->name);
      CHECK(std::ranges::count(names, option->name) == 0);
      names.push_back(option->name);
      CHECK(option->text.ends_with('.'));
      CHECK(accepts(*option, default_value(*option)));
      // Strategies that share a name mean the same by it, but for its range.
      const Option* same = of_name.try_emplace(option->name, option).first->second;
      CHECK(option->type == same->type);
      CHECK(default_value(*option) == default_value(*same));
      CHECK(find_option(strategy, option->name) == option);
    }
  }
  CHECK(of_name.size() == all_options().size());
  for (const Option* option : all_options()) CHECK(of_name.contains(option->name));
}

TEST_CASE("pack() takes the default and both ends of every option, and refuses what is outside") {
  packsim_test::for_each_option_case([](const Strategy& strategy, const Option& option, const auto& one) {
    CAPTURE(strategy.name, option.name, text_of(one.value));
    const std::string answer = answer_of_pack(strategy, {{option.name, one.value}});
    if (one.accepted) {
      CHECK(answer == "accepted");
    } else {
      CHECK(answer == std::string(option.name) + ": expected " + expected_of(option) + ", got " +
                          shown_value(one.value));
    }
  });
}

TEST_CASE("pack() leaves alone what a strategy does not read, and refuses what none does") {
  CHECK(answer_of_pack(*find_strategy("ffd"), {{"rounds", 0}}) == "accepted");
  CHECK(answer_of_pack(*find_strategy("ffd"), {{"round", 3}}) ==
        "options: expected those of strategies, got \"round\"");
  CHECK(answer_of_pack(*find_strategy("trl_lpt"), {{"batch_tokens", 9}, {"samples_per_iteration", 2}}) ==
        "samples_per_iteration: expected no samples_per_iteration beside batch_tokens");
}

TEST_CASE("a text is read as the value that it says, and as none where the option does not accept it") {
  const Option& rounds = *find_option("rounds");
  CHECK(value_of_text(rounds, "3") == OptionValue(3));
  for (const char* text : {"", "3.0", "0x3", " 3", "3 ", "0", "1000001", "99999999999999999999"})
    CHECK(value_of_text(rounds, text) == std::nullopt);
  CHECK(value_of_text(*find_option("shuffle"), "false") == OptionValue(false));
  CHECK(value_of_text(*find_option("shuffle"), "0") == std::nullopt);
  CHECK(value_of_text(*find_option("solve_s"), "6.5") == OptionValue(6.5));
  for (const char* text : {"nan", "inf", "-1", "6.5s"})
    CHECK(value_of_text(*find_option("solve_s"), text) == std::nullopt);
  CHECK(value_of_text(*find_option("packer"), "bfd") == OptionValue("bfd"));
  CHECK(value_of_text(*find_option("packer"), "hbp") == std::nullopt);
}

TEST_CASE("an option that is not set is empty, and -1 or 0 say so") {
  constexpr OptionalIntegerOption kLimit =
      optional_integer_option("limit", {.default_value = -1, .least = -1, .most = 9}, "A limit.");
  constexpr OptionalSecondsOption kTime = optional_seconds_option("time_s", "A time.");
  CHECK(OptionValues{}[kLimit] == std::nullopt);
  CHECK(OptionValues{{"limit", -1}}[kLimit] == std::nullopt);
  CHECK(OptionValues{{"limit", 0}}[kLimit] == 0);
  CHECK(OptionValues{{"limit", 4}, {"limit", 5}}[kLimit] == 5);
  CHECK(OptionValues{}[kTime] == std::nullopt);
  CHECK(OptionValues{{"time_s", 0.0}}[kTime] == std::nullopt);
  CHECK(OptionValues{{"time_s", 2}}[kTime] == 2.0);
}

TEST_CASE("the table of docs/strategies.md has every option as its record says") {
  std::string table = "| option | what it does | values | default | read by |\n|---|---|---|---|---|\n";
  for (const Option* option : all_options()) table += markdown_row(*option);
  std::ifstream file(packsim_test::source_dir() + "/docs/strategies.md");
  std::stringstream page;
  page << file.rdbuf();
  const bool is_current = page.str().find("\n" + table) != std::string::npos;
  if (!is_current) std::cout << "docs/strategies.md: expected this table:\n" << table;
  CHECK(is_current);
}

}  // namespace packsim
