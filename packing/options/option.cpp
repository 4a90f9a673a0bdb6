#include "packing/options/option.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "packing/options/token_count.hpp"

namespace packsim {
namespace {

template <typename T>
std::optional<T> number_of(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<OptionValue> typed_value(const Option& option, std::string_view text) {
  switch (option.type) {
    case OptionType::boolean:
      if (text == "true") return OptionValue(true);
      if (text == "false") return OptionValue(false);
      return std::nullopt;
    case OptionType::integer:
      if (const auto number =
              counts_tokens(option.name) ? token_count_of(text) : number_of<std::int64_t>(text))
        return OptionValue(*number);
      return std::nullopt;
    case OptionType::number:
      if (const auto number = number_of<double>(text)) return OptionValue(*number);
      return std::nullopt;
    case OptionType::word:
      break;
  }
  return OptionValue(std::string(text));
}

std::string range_text(const Option& option) {
  return std::to_string(option.least) + ".." + std::to_string(option.most);
}

}  // namespace

OptionValue default_value(const Option& option) {
  switch (option.type) {
    case OptionType::boolean:
      return option.default_boolean;
    case OptionType::integer:
      return option.default_integer;
    case OptionType::number:
      return static_cast<double>(option.default_integer);
    case OptionType::word:
      break;
  }
  return std::string(option.default_word);
}

std::string expected_of(const Option& option) {
  switch (option.type) {
    case OptionType::boolean:
      return "true or false";
    case OptionType::integer:
      return "integer in " + range_text(option);
    case OptionType::number:
      return "number in " + range_text(option);
    case OptionType::word:
      break;
  }
  std::string words;
  for (const std::string_view word : option.words()) words += (words.empty() ? "" : ", ") + std::string(word);
  return "one of " + words;
}

std::string text_of(const OptionValue& value) {
  if (const bool* boolean = std::get_if<bool>(&value)) return *boolean ? "true" : "false";
  if (const std::int64_t* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const std::string* word = std::get_if<std::string>(&value)) return *word;
  char text[32];  // the shortest text that reads as the same number takes at most 24 characters
  return {text, std::to_chars(text, text + sizeof text, std::get<double>(value)).ptr};
}

bool accepts(const Option& option, const OptionValue& value) {
  const std::int64_t* integer = std::get_if<std::int64_t>(&value);
  switch (option.type) {
    case OptionType::boolean:
      return std::holds_alternative<bool>(value);
    case OptionType::integer:
      return integer != nullptr && *integer >= option.least && *integer <= option.most;
    case OptionType::number: {
      const double* number = std::get_if<double>(&value);
      if (number == nullptr && integer == nullptr) return false;
      const double seconds = number != nullptr ? *number : static_cast<double>(*integer);
      return seconds >= static_cast<double>(option.least) && seconds <= static_cast<double>(option.most);
    }
    case OptionType::word:
      break;
  }
  const std::string* word = std::get_if<std::string>(&value);
  return word != nullptr && std::ranges::count(option.words(), std::string_view(*word)) > 0;
}

std::optional<OptionValue> value_of_text(const Option& option, std::string_view text) {
  std::optional<OptionValue> value = typed_value(option, text);
  if (value && !accepts(option, *value)) return std::nullopt;
  return value;
}

}  // namespace packsim
