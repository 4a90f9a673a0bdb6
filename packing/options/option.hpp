#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace packsim {

/// The value of an option as files, command lines and other languages give it.
using OptionValue = std::variant<bool, std::int64_t, double, std::string>;

enum class OptionType { boolean, integer, number, word };

/// One option of a strategy: all that anybody needs to know to read, check, document and offer it. Strategies
/// declare theirs as one of the typed options below.
struct Option {
  /// Its name in scenario files, C and Python; the command line writes dashes for underscores.
  std::string_view name;
  std::string_view text;  ///< one sentence for help and documentation
  OptionType type = OptionType::integer;
  bool default_boolean = false;
  std::int64_t default_integer = 0;
  std::string_view default_word = {};
  std::int64_t least = 0;  ///< of integers and numbers
  std::int64_t most = 0;
  /// The least value of an integer stands for "not set", and 0 of seconds.
  bool is_optional = false;
  /// What a word may be; the texts live as long as the program.
  std::vector<std::string_view> (*words)() = nullptr;
};

/// An option whose value strategies read as a T: bool, std::int64_t, std::string_view, or a std::optional
/// that is empty where the option is not set.
template <typename T>
struct OptionOf : Option {};

using BooleanOption = OptionOf<bool>;
using IntegerOption = OptionOf<std::int64_t>;
using OptionalIntegerOption = OptionOf<std::optional<std::int64_t>>;
using OptionalSecondsOption = OptionOf<std::optional<double>>;
using WordOption = OptionOf<std::string_view>;

struct IntegerRange {
  std::int64_t default_value;
  std::int64_t least;
  std::int64_t most;
};

constexpr BooleanOption boolean_option(std::string_view name, bool default_value, std::string_view text) {
  return {{.name = name, .text = text, .type = OptionType::boolean, .default_boolean = default_value}};
}

constexpr IntegerOption integer_option(std::string_view name, const IntegerRange& range,
                                       std::string_view text) {
  return {{.name = name,
           .text = text,
           .default_integer = range.default_value,
           .least = range.least,
           .most = range.most}};
}

/// The least value of the range stands for "not set".
constexpr OptionalIntegerOption optional_integer_option(std::string_view name, const IntegerRange& range,
                                                        std::string_view text) {
  return {{.name = name,
           .text = text,
           .default_integer = range.default_value,
           .least = range.least,
           .most = range.most,
           .is_optional = true}};
}

/// An option in seconds that is not set unless it is given; 0 means not set.
constexpr OptionalSecondsOption optional_seconds_option(std::string_view name, std::string_view text) {
  constexpr std::int64_t kMostSeconds = 1'000'000'000;
  return {
      {.name = name, .text = text, .type = OptionType::number, .most = kMostSeconds, .is_optional = true}};
}

constexpr WordOption word_option(std::string_view name, std::string_view default_value,
                                 std::vector<std::string_view> (*words)(), std::string_view text) {
  return {
      {.name = name, .text = text, .type = OptionType::word, .default_word = default_value, .words = words}};
}

OptionValue default_value(const Option& option);

/// What the option may be: "integer in 1..1000000", "true or false", "one of isf, ffd".
std::string expected_of(const Option& option);

/// The value as files write it; words are not quoted.
std::string text_of(const OptionValue& value);

/// True where the value has the option's type and range. Integers are numbers too.
bool accepts(const Option& option, const OptionValue& value);

/// What a text, such as an argument of a command, says; nothing where the option does not accept it.
std::optional<OptionValue> value_of_text(const Option& option, std::string_view text);

}  // namespace packsim
