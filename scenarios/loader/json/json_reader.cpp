#include "scenarios/loader/json/json_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "packing/options/token_count.hpp"
#include "scenarios/loader/json/suggest.hpp"
#include "scenarios/loader/limits.hpp"

namespace packsim {
namespace {

constexpr std::string_view kNothing = "nothing";

bool is_string(const Json& value) {
  return value.is_string();
}
bool is_boolean(const Json& value) {
  return value.is_boolean();
}
bool is_object(const Json& value) {
  return value.is_object();
}
bool is_filled_string(const Json& value) {
  return value.is_string() && !value.get_ref<const std::string&>().empty();
}
bool is_filled_array(const Json& value) {
  return value.is_array() && !value.empty();
}

bool is_integer_in(const Json& value, std::int64_t low, std::int64_t high) {
  const std::optional<std::int64_t> n = integer_of(value);
  return n && *n >= low && *n <= high;
}

// The integer that a key has: a number, or of tokens also a text with a unit.
std::optional<std::int64_t> integer_at(std::string_view key, const Json& value) {
  if (value.is_string() && counts_tokens(key))
    return token_count_with_unit(value.get_ref<const std::string&>());
  return integer_of(value);
}

bool is_number_in(const Json& value, double low, double high) {
  return value.is_number() && value.get<double>() >= low && value.get<double>() <= high;
}

std::string range_text(std::int64_t low, std::int64_t high) {
  return low == high ? fmt::format("{}", low) : fmt::format("integer in {}..{}", low, high);
}

}  // namespace

JsonReader::JsonReader(const JsonDocument& document, Problems& problems)
    : document_(&document), problems_(&problems) {
  if (document.root == nullptr) return;
  if (document.root->is_object()) {
    value_ = document.root.get();
  } else {
    problems.add({document.file, "top level", "object", describe(*document.root)});
  }
}

JsonReader::JsonReader(const JsonReader& parent, const Json* value, std::string place)
    : document_(parent.document_), problems_(parent.problems_), value_(value), place_(std::move(place)) {}

JsonReader::JsonReader(JsonReader&& other) noexcept
    : document_(other.document_),
      problems_(other.problems_),
      value_(std::exchange(other.value_, nullptr)),
      place_(std::move(other.place_)),
      kind_(std::move(other.kind_)),
      known_(std::move(other.known_)),
      any_keys_(other.any_keys_) {}

JsonReader::~JsonReader() {
  finish();
}

const Json* JsonReader::find(std::string_view key) const {
  if (silent()) return nullptr;
  const auto found = value_->find(std::string(key));
  return found == value_->end() ? nullptr : &*found;
}

bool JsonReader::has(std::string_view key) const {
  return find(key) != nullptr;
}

const Json* JsonReader::value(std::string_view key) {
  if (std::ranges::find(known_, key) == known_.end()) known_.emplace_back(key);
  return find(key);
}

const Json* JsonReader::required(std::string_view key, bool has_fallback, const std::string& expected) {
  const Json* member = value(key);
  if (member == nullptr && !has_fallback) refuse(key, expected);
  return member;
}

const Json* JsonReader::of_type(std::string_view key, bool has_fallback, bool (*is_type)(const Json&),
                                const std::string& expected) {
  const Json* member = required(key, has_fallback, expected);
  if (member == nullptr || is_type(*member)) return member;
  refuse(key, expected);
  return nullptr;
}

void JsonReader::refuse(std::string_view key, const std::string& expected) {
  const Json* member = find(key);
  refuse(key, expected, member == nullptr ? std::string(kNothing) : describe(*member));
}

void JsonReader::refuse(std::string_view key, const std::string& expected, const std::string& got) {
  if (!silent()) problems_->add({document_->file, place(key), expected, got});
}

std::int64_t JsonReader::read_integer(std::string_view key, std::int64_t low, std::int64_t high,
                                      std::optional<std::int64_t> fallback) {
  const std::string expected = range_text(low, high);
  const Json* member = required(key, fallback.has_value(), expected);
  if (member != nullptr) {
    const std::optional<std::int64_t> value = integer_at(key, *member);
    if (value && *value >= low && *value <= high) return *value;
    refuse(key, expected + (member->is_string() && counts_tokens(key) ? ", or such as \"64K\"" : ""));
  }
  return fallback.value_or(low);
}

std::optional<int> JsonReader::integer_or_word(std::string_view key, int low, int high, std::string_view word,
                                               std::optional<int> fallback) {
  const Json* member = value(key);
  if (member == nullptr) return fallback;
  if (is_integer_in(*member, low, high)) return member->get<int>();
  if (!(member->is_string() && member->get_ref<const std::string&>() == word)) {
    refuse(key, fmt::format("{} or \"{}\"", range_text(low, high), word));
  }
  return std::nullopt;
}

std::vector<int> JsonReader::integers(std::string_view key, int low, int high) {
  const Json* member = value(key);
  if (member == nullptr) return {};
  const auto is_one = [&](const Json& element) { return is_integer_in(element, low, high); };
  if (member->is_array() && std::ranges::all_of(*member, is_one)) return member->get<std::vector<int>>();
  refuse(key, fmt::format("array of integers in {}..{}", low, high));
  return {};
}

double JsonReader::number(std::string_view key, double low, double high) {
  const std::string expected =
      high == kNoLimit ? fmt::format("number >= {}", low) : fmt::format("number in {}..{}", low, high);
  const Json* member = required(key, false, expected);
  if (member != nullptr) {
    if (is_number_in(*member, low, high)) return member->get<double>();
    refuse(key, expected);
  }
  return low;
}

double JsonReader::positive(std::string_view key) {
  const Json* member = required(key, false, "number > 0");
  if (member != nullptr) {
    if (member->is_number() && member->get<double>() > 0) return member->get<double>();
    refuse(key, "number > 0");
  }
  return 1;
}

std::optional<double> JsonReader::optional_positive(std::string_view key) {
  value(key);
  return has(key) ? std::optional<double>(positive(key)) : std::nullopt;
}

bool JsonReader::boolean(std::string_view key, std::optional<bool> fallback) {
  const Json* member = of_type(key, fallback.has_value(), is_boolean, "true or false");
  return member == nullptr ? fallback.value_or(false) : member->get<bool>();
}

std::string JsonReader::string(std::string_view key) {
  const Json* member = of_type(key, false, is_filled_string, "string of at least one character");
  return member == nullptr ? std::string() : member->get<std::string>();
}

std::string JsonReader::string(std::string_view key, const std::string& fallback) {
  const Json* member = of_type(key, true, is_string, "string");
  return member == nullptr ? fallback : member->get<std::string>();
}

std::size_t JsonReader::one_of(std::string_view key, std::span<const std::string> names,
                               std::optional<std::size_t> fallback) {
  const std::string expected = "one of " + join(names);
  const Json* member = of_type(key, fallback.has_value(), is_string, expected);
  if (member != nullptr) {
    const auto found = std::ranges::find(names, member->get_ref<const std::string&>());
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    refuse(key, expected_one_of(member->get_ref<const std::string&>(), names));
  }
  return fallback.value_or(0);
}

JsonReader JsonReader::object(std::string_view key) {
  return {*this, of_type(key, false, is_object, "object"), place(key)};
}

JsonReader JsonReader::optional_object(std::string_view key) {
  return {*this, of_type(key, true, is_object, "object"), place(key)};
}

std::vector<JsonReader> JsonReader::objects(std::string_view key) {
  std::vector<JsonReader> readers;
  const Json* elements = of_type(key, false, is_filled_array, "array of at least one object");
  if (elements == nullptr) return readers;
  if (elements->size() > kMostObjects) {
    refuse(key, fmt::format("at most {} objects", kMostObjects), fmt::format("{}", elements->size()));
    return readers;
  }
  for (std::size_t i = 0; i < elements->size(); ++i) {
    const Json& element = (*elements)[i];
    const std::string element_place = fmt::format("{}/{}", place(key), i);
    if (!element.is_object()) problems_->add({document_->file, element_place, "object", describe(element)});
    readers.push_back(JsonReader(*this, element.is_object() ? &element : nullptr, element_place));
  }
  return readers;
}

void JsonReader::finish() {
  constexpr std::int64_t kMostShown = 100;  // an object may have millions
  if (silent()) return;
  std::int64_t n_unknown = 0;
  for (const auto& [key, member] : value_->items()) {
    if (any_keys_ || std::ranges::find(known_, key) != known_.end()) continue;
    if (++n_unknown > kMostShown) continue;
    refuse(key,
           fmt::format("no such key{}{} ({})", kind_.empty() ? "" : " for ", kind_, suggest(key, known_)),
           describe(member));
  }
  if (n_unknown > kMostShown) {
    problems_->add({document_->file, place_.empty() ? "top level" : place_, "no unknown keys",
                    fmt::format("{}, of which the first {} are shown", n_unknown, kMostShown)});
  }
  value_ = nullptr;
}

}  // namespace packsim
