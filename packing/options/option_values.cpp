#include "packing/options/option_values.hpp"

#include <algorithm>

namespace packsim {

void OptionValues::set(std::string_view name, OptionValue value) {
  const auto at =
      std::ranges::find(values_, name, [](const auto& row) { return std::string_view(row.first); });
  if (at != values_.end()) {
    at->second = std::move(value);
  } else {
    values_.emplace_back(name, std::move(value));
  }
}

const OptionValue* OptionValues::find(std::string_view name) const {
  const auto at =
      std::ranges::find(values_, name, [](const auto& row) { return std::string_view(row.first); });
  return at == values_.end() ? nullptr : &at->second;
}

bool OptionValues::operator[](const BooleanOption& option) const {
  const OptionValue* value = find(option.name);
  return value == nullptr ? option.default_boolean : std::get<bool>(*value);
}

std::int64_t OptionValues::operator[](const IntegerOption& option) const {
  const OptionValue* value = find(option.name);
  return value == nullptr ? option.default_integer : std::get<std::int64_t>(*value);
}

std::optional<std::int64_t> OptionValues::operator[](const OptionalIntegerOption& option) const {
  const OptionValue* value = find(option.name);
  const std::int64_t integer = value == nullptr ? option.default_integer : std::get<std::int64_t>(*value);
  return integer == option.least ? std::nullopt : std::optional(integer);
}

std::optional<double> OptionValues::operator[](const OptionalSecondsOption& option) const {
  const OptionValue* value = find(option.name);
  if (value == nullptr) return std::nullopt;
  const std::int64_t* integer = std::get_if<std::int64_t>(value);
  const double seconds = integer != nullptr ? static_cast<double>(*integer) : std::get<double>(*value);
  return seconds == 0 ? std::nullopt : std::optional(seconds);
}

std::string_view OptionValues::operator[](const WordOption& option) const {
  const OptionValue* value = find(option.name);
  return value == nullptr ? option.default_word : std::string_view(std::get<std::string>(*value));
}

}  // namespace packsim
