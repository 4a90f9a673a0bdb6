#include "cli/recommend/amounts.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "scenarios/loader/json/json_text.hpp"

namespace packsim {
namespace {

// Above any run that somebody would wait or pay for, and short to print.
constexpr double kMost = 1e12;

struct Unit {
  std::string_view name;
  double hours;
};
constexpr std::array<Unit, 21> kUnits = {{{"w", 168},
                                          {"week", 168},
                                          {"weeks", 168},
                                          {"d", 24},
                                          {"day", 24},
                                          {"days", 24},
                                          {"h", 1},
                                          {"hour", 1},
                                          {"hours", 1},
                                          {"hr", 1},
                                          {"hrs", 1},
                                          {"m", 1.0 / 60},
                                          {"min", 1.0 / 60},
                                          {"mins", 1.0 / 60},
                                          {"minute", 1.0 / 60},
                                          {"minutes", 1.0 / 60},
                                          {"s", 1.0 / 3600},
                                          {"sec", 1.0 / 3600},
                                          {"secs", 1.0 / 3600},
                                          {"second", 1.0 / 3600},
                                          {"seconds", 1.0 / 3600}}};

void skip_spaces(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
}

// Takes a number from the start of the text; none if there is no finite one that is not negative.
std::optional<double> take_number(std::string_view& text) {
  skip_spaces(text);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  skip_spaces(text);
  return number;
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// The word at the start of the text.
std::string_view take_word(std::string_view& text) {
  std::size_t size = 0;
  while (size < text.size() && is_letter(text[size])) ++size;
  const std::string_view word = text.substr(0, size);
  text.remove_prefix(size);
  skip_spaces(text);
  return word;
}

bool is_amount(double value) {
  return value > 0 && value <= kMost;
}

std::optional<double> hours_in(std::string_view text) {
  double hours = 0;
  for (bool is_first = true; !text.empty(); is_first = false) {
    const std::optional<double> number = take_number(text);
    if (!number) return std::nullopt;
    if (is_first && text.empty()) return number;
    const std::string_view word = take_word(text);
    const Unit* unit = nullptr;
    for (const Unit& one : kUnits)
      if (one.name == word) unit = &one;
    if (unit == nullptr) return std::nullopt;
    hours += *number * unit->hours;
  }
  return hours;
}

// What is no part of a number, in front of it or behind it: letters, or a sign such as a dollar's.
bool is_currency(std::string_view text) {
  constexpr std::string_view kOfNumbers = "0123456789.,+-";
  return text.size() <= 8 && text.find_first_of(kOfNumbers) == std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  skip_spaces(text);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<Money> money_in(std::string_view text) {
  text = trimmed(text);
  const std::size_t digit = text.find_first_of("0123456789.");
  if (digit == std::string_view::npos) return std::nullopt;
  const std::string_view before = trimmed(text.substr(0, digit));
  std::string_view rest = text.substr(digit);
  const std::optional<double> amount = take_number(rest);
  if (!amount || !is_currency(before) || !is_currency(rest) || (!before.empty() && !rest.empty()))
    return std::nullopt;
  return Money{*amount, std::string(before.empty() ? rest : before)};
}

}  // namespace

double hours_of(std::string_view option, const std::string& text) {
  const std::optional<double> hours = hours_in(trimmed(text));
  if (hours && is_amount(*hours)) return *hours;
  throw std::invalid_argument(fmt::format(
      "{}: expected hours above 0, or a duration such as 12h, 2d or 90m, got {}", option, quote(text)));
}

Money money_of(std::string_view option, const std::string& text) {
  std::optional<Money> money = money_in(text);
  if (money && is_amount(money->amount)) return *std::move(money);
  throw std::invalid_argument(
      fmt::format("{}: expected money above 0, such as 900 or 900 EUR, got {}", option, quote(text)));
}

}  // namespace packsim
