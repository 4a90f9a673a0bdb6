#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "packing/policies/policies.hpp"
#include "scenarios/loader/json/json_document.hpp"
#include "scenarios/loader/json/key_records.hpp"
#include "scenarios/loader/json/suggest.hpp"

namespace packsim {

/// Reads one JSON object and reports everything that is wrong with it: missing keys, wrong types, values out
/// of range and, at the end, keys that no read has asked for. A read that fails returns a harmless value, so
/// one pass finds all mistakes; the caller then throws them together.
///
/// A read without a fallback is of a required key. Document and problems must outlive the reader.
class JsonReader {
 public:
  /// A reader of the whole document. It is silent if the document is not JSON, because that has been reported
  /// already.
  JsonReader(const JsonDocument& document, Problems& problems);
  JsonReader(JsonReader&& other) noexcept;
  JsonReader(const JsonReader&) = delete;
  JsonReader& operator=(const JsonReader&) = delete;
  JsonReader& operator=(JsonReader&&) = delete;
  ~JsonReader();  ///< calls finish()

  /// An integer in [low, high], which must be written as an integer: 3.0 and 1e3 are refused. Of a key that
  /// counts tokens it may be a text with a unit: "64K" (packing/options/token_count.hpp).
  template <std::integral T>
  T integer(std::string_view key, std::type_identity_t<T> low, T high) {
    return static_cast<T>(read_integer(key, low, high, std::nullopt));
  }
  template <std::integral T>
  T integer(std::string_view key, std::type_identity_t<T> low, T high, std::type_identity_t<T> fallback) {
    return static_cast<T>(read_integer(key, low, high, fallback));
  }
  /// The same, or none if the key is missing or its value is refused.
  template <std::integral T>
  std::optional<T> optional_integer(std::string_view key, std::type_identity_t<T> low, T high) {
    const std::size_t before = n_problems();
    const T value = integer(key, low, high, low);
    return has(key) && n_problems() == before ? std::optional<T>(value) : std::nullopt;
  }
  /// An integer in [low, high], or the given word, for which the result is none.
  std::optional<int> integer_or_word(std::string_view key, int low, int high, std::string_view word,
                                     std::optional<int> fallback);
  /// An array of integers in [low, high]; empty if the key is missing.
  std::vector<int> integers(std::string_view key, int low, int high);
  /// An array of some of these words; empty if it is missing.
  std::vector<std::string> words(std::string_view key, const std::vector<std::string>& names);
  /// A finite number in [low, high]; `instead`: the key that could stand in its place, for the message.
  double number(std::string_view key, double low, double high = kNoLimit, std::string_view instead = {});
  /// The same, or the fallback if the key is missing.
  double number_or(std::string_view key, double low, double high, double fallback) {
    return value(key) == nullptr ? fallback : number(key, low, high);
  }
  /// A finite number above 0.
  double positive(std::string_view key);
  std::optional<double> optional_positive(std::string_view key);
  /// Whether the member is null, as files that packsim writes have it where there is no value.
  bool is_null(std::string_view key);
  /// A finite number of at least 0, or none where it is null.
  std::optional<double> nullable_number(std::string_view key);
  /// A string of at least one character, or none where it is null.
  std::optional<std::string> nullable_string(std::string_view key);
  bool boolean(std::string_view key, std::optional<bool> fallback = std::nullopt);
  /// A string of at least one character.
  std::string string(std::string_view key);
  /// A string, which may be empty.
  std::string string(std::string_view key, const std::string& fallback);
  /// The index of the value in names; 0 if it is none of them, which is reported.
  std::size_t one_of(std::string_view key, std::span<const std::string> names,
                     std::optional<std::size_t> fallback = std::nullopt);
  template <typename Enum, std::size_t N>
  Enum one_of(std::string_view key, const std::array<PolicyName<Enum>, N>& names, Enum fallback);

  /// The row of that name of a table; null if there is none, which is reported.
  template <typename Table>
  const std::ranges::range_value_t<Table>* row_of(std::string_view key, const Table& table);

  /// As one_of, for names that the file itself gives, such as those of its strategies.
  std::size_t one_of_own(std::string_view key, std::span<const std::string> names,
                         std::optional<std::size_t> fallback = std::nullopt);
  /// A string of at least one character: the name of a file of this kind, or a path.
  std::string file_name(std::string_view key, const NamedFiles& kind);
  /// Whether the member is a string, where it may also be an object: what file_name() then reads.
  bool is_file_name(std::string_view key, const NamedFiles& kind);
  /// The member as it is, or null. The caller checks that it is one of the words or an array of the elements.
  const Json* word_or_array(std::string_view key, std::span<const std::string> words,
                            std::span<const std::string> elements);
  /// The same of a finite number above 0 or one of the words.
  const Json* positive_or_word(std::string_view key, std::span<const std::string> words);

  /// A reader of a member, which is silent if the member is missing or not an object.
  JsonReader object(std::string_view key);
  JsonReader optional_object(std::string_view key);
  /// Readers of the elements of an array, which must have at least one. A reader is silent if its element is
  /// not an object.
  std::vector<JsonReader> objects(std::string_view key);
  /// The member as it is, or null if it is missing, which is not reported.
  const Json* value(std::string_view key);

  /// The file that the document was read from, as the user spelled it.
  const std::string& file() const { return document_->file; }
  bool has(std::string_view key) const;
  /// Whether the reader has no object to read. A silent reader reports nothing.
  bool silent() const { return value_ == nullptr; }
  /// How many mistakes all readers together have found so far.
  std::size_t n_problems() const { return problems_->size(); }
  std::string place(std::string_view key) const { return place_ + "/" + pointer_step(key); }
  /// Reports the value of a key as wrong, together with the JSON that was found.
  void refuse(std::string_view key, const std::string& expected);
  /// Reports the value of a key as wrong, with `got` in place of the JSON that was found.
  void refuse(std::string_view key, const std::string& expected, const std::string& got);

  /// Sets what messages about unread keys say: with the text "strategy ffd" they say "expected no such key
  /// for strategy ffd".
  void describe_as(ObjectKind kind) { kind_ = std::move(kind); }
  void allow_any_keys() { any_keys_ = true; }
  /// Reports the keys that no read has asked for.
  void finish();

 private:
  static constexpr double kNoLimit = std::numeric_limits<double>::max();

  JsonReader(const JsonReader& parent, const Json* value, std::string place);
  KeyRecord& record_of(std::string_view key) const;
  void note(std::string_view key, const ValueForm& form) const;
  std::size_t read_word(std::string_view key, std::span<const std::string> names,
                        std::optional<std::size_t> fallback);
  void keep_records();
  const Json* find(std::string_view key) const;
  const Json* required(std::string_view key, bool has_fallback, const std::string& expected);
  const Json* of_type(std::string_view key, bool has_fallback, bool (*is_type)(const Json&),
                      const std::string& expected);
  std::int64_t read_integer(std::string_view key, std::int64_t low, std::int64_t high,
                            std::optional<std::int64_t> fallback);

  const JsonDocument* document_;
  Problems* problems_;
  const Json* value_ = nullptr;
  std::string place_;
  ObjectKind kind_;
  std::vector<std::string> known_;          // the keys that reads have asked for
  mutable std::vector<KeyRecord> records_;  // what they asked, where the document keeps records
  bool any_keys_ = false;
};

template <typename Table>
const std::ranges::range_value_t<Table>* JsonReader::row_of(std::string_view key, const Table& table) {
  const std::size_t before = n_problems();
  const std::size_t index = one_of(key, names_in(table));
  return n_problems() == before && !silent() ? &table[index] : nullptr;
}

template <typename Enum, std::size_t N>
Enum JsonReader::one_of(std::string_view key, const std::array<PolicyName<Enum>, N>& names, Enum fallback) {
  std::vector<std::string> spellings;
  std::size_t fallback_index = 0;
  for (std::size_t i = 0; i < N; ++i) {
    spellings.emplace_back(names[i].name);
    if (names[i].value == fallback) fallback_index = i;
  }
  return names[one_of(key, spellings, fallback_index)].value;
}

}  // namespace packsim
