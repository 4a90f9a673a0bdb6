#include "cli/shared/member_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "packing/options/token_count.hpp"
#include "scenarios/loader/json/json_text.hpp"
#include "scenarios/loader/json/suggest.hpp"

namespace packsim {
namespace {

constexpr const char* kMemberCheck = "member";

}  // namespace

CLI::Validator member_check(std::vector<std::string> names) {
  // The description, which help shows, is also where members_of() finds the names.
  std::string description = fmt::format("{{{}}}", join(names));
  std::erase(description, ' ');
  const auto check = [names = std::move(names)](const std::string& text) -> std::string {
    if (std::ranges::find(names, text) != names.end()) return "";
    return fmt::format("expected {}, got {}", expected_one_of(text, names), quote(text));
  };
  return {check, std::move(description), kMemberCheck};
}

std::vector<std::string> members_of(CLI::Option& option) {
  try {
    const std::string text = option.get_validator(kMemberCheck)->get_description();
    return CLI::detail::split(text.substr(1, text.size() - 2), ',');
  } catch (const CLI::OptionNotFound&) {
    return {};
  }
}

CLI::Validator token_check(std::int64_t low, std::int64_t high) {
  const auto read = [low, high](std::string& text) -> std::string {
    const std::optional<std::int64_t> count = token_count_of(text);
    if (!count || *count < low || *count > high)
      return fmt::format("expected tokens in {}..{}, such as 65536 or 64K, got {}", low, high, quote(text));
    text = std::to_string(*count);
    return "";
  };
  return {read, fmt::format("TOKENS in {}..{}", low, high), "tokens"};
}

CLI::Validator positive_check() {
  const auto check = [](const std::string& text) -> std::string {
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [read_to, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && read_to == end && std::isfinite(number) && number > 0) return "";
    return fmt::format("expected a number above 0, got {}", quote(text));
  };
  return {check, "NUMBER above 0", "positive"};
}

}  // namespace packsim
