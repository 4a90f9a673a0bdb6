#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "packing/options/option.hpp"

namespace packsim {

/// The options that somebody has set, by name: `OptionValues options = {{"rounds", 3}, {"shuffle", false}};`.
/// What is not set has the default of the record that it is read with. pack() checks names and values.
class OptionValues {
 public:
  OptionValues() = default;
  OptionValues(std::initializer_list<std::pair<std::string_view, OptionValue>> values) {
    for (const auto& [name, value] : values) set(name, value);
  }

  /// Sets an option, again if need be.
  void set(std::string_view name, OptionValue value);

  /// The value that was set, or null.
  const OptionValue* find(std::string_view name) const;

  /// Every name that was set with its value, in the order in which they came.
  std::span<const std::pair<std::string, OptionValue>> all() const { return values_; }

  bool operator[](const BooleanOption& option) const;
  std::int64_t operator[](const IntegerOption& option) const;
  std::optional<std::int64_t> operator[](const OptionalIntegerOption& option) const;
  std::optional<double> operator[](const OptionalSecondsOption& option) const;
  /// Lives as long as these values do.
  std::string_view operator[](const WordOption& option) const;

 private:
  std::vector<std::pair<std::string, OptionValue>> values_;
};

}  // namespace packsim
