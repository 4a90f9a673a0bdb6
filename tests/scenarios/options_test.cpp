// Scenario files take the options of strategies as their records say.

#include <catch2/catch.hpp>

#include "messages.hpp"
#include "scenario_text.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "temp_folder.hpp"
#include "tests/option_cases.hpp"
#include "tests/option_value.hpp"
#include "tests/shipped_data.hpp"

namespace packsim {
namespace {

// What the loader makes of one option of a strategy, or its mistakes.
struct LoadedOption {
  OptionValues options;
  std::vector<std::string> mistakes;
};

LoadedOption load_option(const Strategy& strategy, const Option& option, const OptionValue& value) {
  const TempFolder folder;
  folder.write("lengths.csv", "tokens\n5\n");
  const std::string shown =
      std::holds_alternative<std::string>(value) ? "\"" + text_of(value) + "\"" : text_of(value);
  std::string where = R"("capacity_tokens": 16384)";
  if (strategy.chooses_groups) where = R"("zero_stages": [1])";
  if (strategy.takes_groups()) where = R"("groups": [{"capacity_tokens": 16384}])";
  const std::string entry = R"({"strategy": ")" + std::string(strategy.name) + "\", " + where + ", \"" +
                            std::string(option.name) + "\": " + shown + "}";
  LoadedOption loaded;
  loaded.mistakes = messages_of([&] {
    loaded.options = load_scenario(folder.write("test.json", scenario_text(entry)), packsim_test::kData)
                         .strategies.at(0)
                         .options;
  });
  return loaded;
}

}  // namespace

TEST_CASE("a scenario takes the default and both ends of every option, and refuses what is outside",
          "[plain]") {
  packsim_test::for_each_option_case([](const Strategy& strategy, const Option& option, const auto& one) {
    CAPTURE(strategy.name, option.name, text_of(one.value));
    const LoadedOption loaded = load_option(strategy, option, one.value);
    if (one.accepted) {
      CHECK(loaded.mistakes.empty());
      CHECK(packsim_test::option(loaded.options, option.name) == one.value);
    } else {
      REQUIRE(loaded.mistakes.size() == 1);
      const std::string& mistake = loaded.mistakes.front();
      CHECK(mistake.find("/strategies/0/" + std::string(option.name) + ": expected ") != std::string::npos);
      if (option.words == nullptr) CHECK(mistake.find(expected_of(option)) != std::string::npos);
      CHECK(mistake.find(text_of(one.value)) != std::string::npos);
    }
  });
}

}  // namespace packsim
