#include "scenarios/loader/json/json_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
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

ValueForm range_form(ValueForm::Kind kind, std::int64_t low, std::int64_t high) {
  return {.kind = kind, .low = static_cast<double>(low), .high = static_cast<double>(high)};
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
      records_(std::move(other.records_)),
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
  if (document_->records != nullptr) record_of(key);
  return find(key) != nullptr;
}

const Json* JsonReader::value(std::string_view key) {
  if (std::ranges::find(known_, key) == known_.end()) known_.emplace_back(key);
  if (document_->records != nullptr) record_of(key);
  return find(key);
}

const Json* JsonReader::required(std::string_view key, bool has_fallback, const std::string& expected) {
  const Json* member = value(key);
  if (member == nullptr && !has_fallback) {
    refuse(key, expected);
    if (document_->records != nullptr) record_of(key).was_missed = true;
  }
  return member;
}

KeyRecord& JsonReader::record_of(std::string_view key) const {
  const auto at = std::ranges::find(records_, key, &KeyRecord::key);
  if (at != records_.end()) return *at;
  return records_.emplace_back(KeyRecord{.key = std::string(key), .forms = {}});
}

void JsonReader::note(std::string_view key, const ValueForm& form) const {
  if (document_->records != nullptr) add_form(record_of(key), form);
}

// A reader that accepts any key reads an object whose keys another reader knows.
void JsonReader::keep_records() {
  if (document_->records == nullptr || any_keys_) return;
  for (KeyRecord& asked : records_) {
    asked.is_known = std::ranges::find(known_, asked.key) != known_.end();
    asked.was_left_out = find(asked.key) == nullptr && !asked.was_missed;
  }
  document_->records->add(
      {.place = place_without_numbers(place_), .kind = kind_, .keys = std::move(records_)});
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
  note(key, range_form(ValueForm::Kind::integer, low, high));
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
  note(key, range_form(ValueForm::Kind::integer, low, high));
  note(key, {.kind = ValueForm::Kind::words, .words = {std::string(word)}});
  const Json* member = value(key);
  if (member == nullptr) return fallback;
  if (is_integer_in(*member, low, high)) return member->get<int>();
  if (!(member->is_string() && member->get_ref<const std::string&>() == word)) {
    refuse(key, fmt::format("{} or \"{}\"", range_text(low, high), word));
  }
  return std::nullopt;
}

std::vector<int> JsonReader::integers(std::string_view key, int low, int high) {
  note(key, range_form(ValueForm::Kind::integers, low, high));
  const Json* member = value(key);
  if (member == nullptr) return {};
  const auto is_one = [&](const Json& element) { return is_integer_in(element, low, high); };
  if (member->is_array() && std::ranges::all_of(*member, is_one)) return member->get<std::vector<int>>();
  refuse(key, fmt::format("array of integers in {}..{}", low, high));
  return {};
}

std::vector<std::string> JsonReader::words(std::string_view key, const std::vector<std::string>& names) {
  note(key, {.kind = ValueForm::Kind::array_of_words, .words = names});
  const Json* member = value(key);
  if (member == nullptr) return {};
  const auto is_one = [&](const Json& element) {
    return element.is_string() &&
           std::ranges::find(names, element.get_ref<const std::string&>()) != names.end();
  };
  if (member->is_array() && std::ranges::all_of(*member, is_one))
    return member->get<std::vector<std::string>>();
  refuse(key, fmt::format("array of {}", fmt::join(names, ", ")));
  return {};
}

double JsonReader::number(std::string_view key, double low, double high, std::string_view instead) {
  std::string expected =
      high == kNoLimit ? fmt::format("number >= {}", low) : fmt::format("number in {}..{}", low, high);
  if (!instead.empty()) expected += fmt::format(", or {} instead", instead);
  note(key, {.kind = ValueForm::Kind::number, .low = low, .high = high});
  const Json* member = required(key, false, expected);
  if (member != nullptr) {
    if (is_number_in(*member, low, high)) return member->get<double>();
    refuse(key, expected);
  }
  return low;
}

double JsonReader::positive(std::string_view key) {
  note(key, {.kind = ValueForm::Kind::number, .high = kNoLimit, .is_above_low = true});
  const Json* member = required(key, false, "number > 0");
  if (member != nullptr) {
    if (member->is_number() && member->get<double>() > 0) return member->get<double>();
    refuse(key, "number > 0");
  }
  return 1;
}

std::optional<double> JsonReader::optional_positive(std::string_view key) {
  if (value(key) != nullptr) return positive(key);
  note(key, {.kind = ValueForm::Kind::number, .high = kNoLimit, .is_above_low = true});
  return std::nullopt;
}

bool JsonReader::is_null(std::string_view key) {
  const Json* member = value(key);
  return member != nullptr && member->is_null();
}

std::optional<double> JsonReader::nullable_number(std::string_view key) {
  return is_null(key) ? std::nullopt : std::optional(number(key, 0));
}

std::optional<std::string> JsonReader::nullable_string(std::string_view key) {
  return is_null(key) ? std::nullopt : std::optional(string(key));
}

bool JsonReader::boolean(std::string_view key, std::optional<bool> fallback) {
  note(key, {.kind = ValueForm::Kind::boolean});
  const Json* member = of_type(key, fallback.has_value(), is_boolean, "true or false");
  return member == nullptr ? fallback.value_or(false) : member->get<bool>();
}

std::string JsonReader::string(std::string_view key) {
  note(key, {.kind = ValueForm::Kind::string, .low = 1});
  const Json* member = of_type(key, false, is_filled_string, "string of at least one character");
  return member == nullptr ? std::string() : member->get<std::string>();
}

std::string JsonReader::string(std::string_view key, const std::string& fallback) {
  note(key, {.kind = ValueForm::Kind::string});
  const Json* member = of_type(key, true, is_string, "string");
  return member == nullptr ? fallback : member->get<std::string>();
}

std::string JsonReader::file_name(std::string_view key, const NamedFiles& kind) {
  note(key, {.kind = ValueForm::Kind::file_name, .files = kind});
  const Json* member = of_type(key, false, is_filled_string, "string of at least one character");
  return member == nullptr ? std::string() : member->get<std::string>();
}

bool JsonReader::is_file_name(std::string_view key, const NamedFiles& kind) {
  note(key, {.kind = ValueForm::Kind::file_name, .files = kind});
  const Json* member = value(key);
  return member != nullptr && member->is_string();
}

const Json* JsonReader::positive_or_word(std::string_view key, std::span<const std::string> words) {
  note(key, {.kind = ValueForm::Kind::number, .high = kNoLimit, .is_above_low = true});
  note(key, {.kind = ValueForm::Kind::words, .words = {words.begin(), words.end()}});
  return value(key);
}

const Json* JsonReader::word_or_array(std::string_view key, std::span<const std::string> words,
                                      std::span<const std::string> elements) {
  note(key, {.kind = ValueForm::Kind::words, .words = {words.begin(), words.end()}});
  note(key, {.kind = ValueForm::Kind::array_of_words, .words = {elements.begin(), elements.end()}});
  return value(key);
}

std::size_t JsonReader::one_of(std::string_view key, std::span<const std::string> names,
                               std::optional<std::size_t> fallback) {
  note(key, {.kind = ValueForm::Kind::words, .words = {names.begin(), names.end()}});
  return read_word(key, names, fallback);
}

std::size_t JsonReader::one_of_own(std::string_view key, std::span<const std::string> names,
                                   std::optional<std::size_t> fallback) {
  note(key, {.kind = ValueForm::Kind::string});
  return read_word(key, names, fallback);
}

std::size_t JsonReader::read_word(std::string_view key, std::span<const std::string> names,
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
  note(key, {.kind = ValueForm::Kind::object});
  return {*this, of_type(key, false, is_object, "object"), place(key)};
}

JsonReader JsonReader::optional_object(std::string_view key) {
  note(key, {.kind = ValueForm::Kind::object});
  return {*this, of_type(key, true, is_object, "object"), place(key)};
}

std::vector<JsonReader> JsonReader::objects(std::string_view key) {
  std::vector<JsonReader> readers;
  note(key, {.kind = ValueForm::Kind::objects});
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
  keep_records();
  std::int64_t n_unknown = 0;
  for (const auto& [key, member] : value_->items()) {
    if (any_keys_ || std::ranges::find(known_, key) != known_.end()) continue;
    if (++n_unknown > kMostShown) continue;
    refuse(key,
           fmt::format(
               "no such key{}{} ({})", kind_.text.empty() ? "" : " for ", kind_.text,
               document_->suggest_key ? document_->suggest_key(place_, key, known_) : suggest(key, known_)),
           describe(member));
  }
  if (n_unknown > kMostShown) {
    problems_->add({document_->file, place_.empty() ? "top level" : place_, "no unknown keys",
                    fmt::format("{}, of which the first {} are shown", n_unknown, kMostShown)});
  }
  value_ = nullptr;
}

}  // namespace packsim
