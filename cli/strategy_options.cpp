#include "cli/strategy_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <stdexcept>
#include <vector>

#include "packing/options/shared_options.hpp"

namespace packsim {
namespace {

constexpr const char* kGroup = "Options of strategies";

std::string with_dashes(std::string_view name) {
  std::string dashed(name);
  std::ranges::replace(dashed, '_', '-');
  return dashed;
}

// The option's own sentence, and the strategies that read it.
std::string help_of(const Option& option) {
  std::vector<std::string_view> readers;
  for (const Strategy& strategy : strategies()) {
    if (find_option(strategy, option.name) != nullptr) readers.push_back(strategy.name);
  }
  return fmt::format("{}\n  Read by {}.", option.text, fmt::join(readers, ", "));
}

void add_boolean(CLI::App& command, const Option& option, std::optional<std::string>& given) {
  const std::string flag = with_dashes(option.name);
  command.add_flag(fmt::format("--{0},!--no-{0}", flag), given, help_of(option))
      ->default_str(text_of(default_value(option)))
      ->group(kGroup);
}

}  // namespace

void add_strategy_options(CLI::App& command, GivenOptions& given) {
  for (const Option* option : all_options()) {
    std::optional<std::string>& text = given[option->name];
    if (option->type == OptionType::boolean) {
      add_boolean(command, *option, text);
      continue;
    }
    command.add_option("--" + with_dashes(option->name), text, help_of(*option))
        ->type_name(expected_of(*option))
        ->default_str(text_of(default_value(*option)))
        ->group(kGroup);
  }
}

OptionValues values_of(const GivenOptions& given, const Strategy& strategy) {
  OptionValues values;
  std::vector<std::string> mistakes;
  for (const auto& [name, text] : given) {
    if (!text) continue;
    const Option* option = find_option(strategy, name);
    // The schedule shuffles packs with the seed, even if the strategy itself shuffles nothing.
    if (option == nullptr && name == kSeed.name) option = &kSeed;
    if (option == nullptr) {
      mistakes.push_back(fmt::format("--{}: expected no such option for strategy {}, which does not read it",
                                     with_dashes(name), strategy.name));
    } else if (const std::optional<OptionValue> value = value_of_text(*option, *text)) {
      values.set(name, *value);
    } else {
      mistakes.push_back(
          fmt::format("--{}: expected {}, got {}", with_dashes(name), expected_of(*option), *text));
    }
  }
  if (!mistakes.empty()) throw std::invalid_argument(fmt::format("{}", fmt::join(mistakes, "\n")));
  return values;
}

}  // namespace packsim
