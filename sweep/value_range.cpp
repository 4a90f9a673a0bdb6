#include "sweep/value_range.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "packing/options/token_count.hpp"

namespace packsim {
namespace {

constexpr std::size_t kMostOfRange = 10'000;

struct RangeNumber {
  double value = 0;
  bool is_integer = false;
};

std::optional<RangeNumber> number_at(JsonReader& range, const char* member, const std::string& key) {
  const Json* value = range.value(member);
  const bool may_have_unit = counts_tokens(key.substr(key.rfind('.') + 1));
  const std::string expected = may_have_unit ? "a number, or tokens such as \"64K\"" : "a number";
  if (value == nullptr) {
    range.refuse(member, expected, "nothing");
    return std::nullopt;
  }
  if (const std::optional<std::int64_t> integer = integer_of(*value))
    return RangeNumber{static_cast<double>(*integer), true};
  if (value->is_number()) return RangeNumber{value->get<double>(), false};
  if (value->is_string() && may_have_unit) {
    if (const auto tokens = token_count_with_unit(value->get_ref<const std::string&>()))
      return RangeNumber{static_cast<double>(*tokens), true};
  }
  range.refuse(member, expected);
  return std::nullopt;
}

std::string number_text(double value, bool is_integer) {
  return is_integer ? fmt::format("{:.0f}", value) : fmt::format("{:.12g}", value);
}

}  // namespace

std::optional<std::vector<std::string>> read_range(JsonReader range, const std::string& key) {
  const bool multiplies = range.has("factor");
  const char* const how = multiplies ? "factor" : "step";
  const auto from = number_at(range, "from", key);
  const auto to = number_at(range, "to", key);
  const auto by = number_at(range, how, key);
  if (!from || !to || !by) return std::nullopt;
  const bool goes_on = multiplies ? by->value > 1 && from->value > 0 : by->value > 0;
  if (!goes_on) {
    range.refuse(how, multiplies ? "a factor above 1, from a number above 0" : "a step above 0");
    return std::nullopt;
  }
  if (to->value < from->value) {
    range.refuse("to",
                 fmt::format("at least {}, which is \"from\"", number_text(from->value, from->is_integer)));
    return std::nullopt;
  }
  // "to" is met where rounding alone keeps a number from it.
  const double last = to->value + 1e-9 * std::abs(to->value);
  const bool are_integers = from->is_integer && by->is_integer;
  std::vector<std::string> values;
  for (std::size_t i = 0;; ++i) {
    const auto times = static_cast<double>(i);
    const double value =
        multiplies ? from->value * std::pow(by->value, times) : from->value + by->value * times;
    if (value > last) return values;
    if (values.size() == kMostOfRange) {
      range.refuse(how, fmt::format("a range of at most {} values", kMostOfRange), "more");
      return std::nullopt;
    }
    values.push_back(number_text(value, are_integers));
  }
}

}  // namespace packsim
