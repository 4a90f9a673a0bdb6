#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "packing/policies.hpp"
#include "scenarios/loader/json/json_document.hpp"

namespace packsim {

/// Reads one JSON object and reports everything that is wrong with it: missing keys, wrong types, values out
/// of range and, in the end, keys that nobody asked for. A read that fails gives a harmless value, so that
/// one pass finds every mistake; the caller throws them once.
///
/// Reads without a fallback are of required keys. Document and problems must outlive the reader.
class JsonReader {
 public:
  /// The object that the document is. Silent where the document is not JSON, as that was reported.
  JsonReader(const JsonDocument& document, Problems& problems);
  JsonReader(JsonReader&& other) noexcept;
  JsonReader(const JsonReader&) = delete;
  JsonReader& operator=(const JsonReader&) = delete;
  JsonReader& operator=(JsonReader&&) = delete;
  ~JsonReader();  ///< finish()

  /// An integer in [low, high], written as one: 3.0 and 1e3 are refused.
  template <std::integral T>
  T integer(std::string_view key, std::type_identity_t<T> low, T high) {
    return static_cast<T>(read_integer(key, low, high, std::nullopt));
  }
  template <std::integral T>
  T integer(std::string_view key, std::type_identity_t<T> low, T high, std::type_identity_t<T> fallback) {
    return static_cast<T>(read_integer(key, low, high, fallback));
  }
  /// The same, or nothing where the key is missing or its value refused.
  template <std::integral T>
  std::optional<T> optional_integer(std::string_view key, std::type_identity_t<T> low, T high) {
    const std::size_t before = n_problems();
    const T value = integer(key, low, high, low);
    return has(key) && n_problems() == before ? std::optional<T>(value) : std::nullopt;
  }
  /// An integer in [low, high], or the given word, which reads as nothing.
  std::optional<int> integer_or_word(std::string_view key, int low, int high, std::string_view word,
                                     std::optional<int> fallback);
  /// An array of integers in [low, high]; empty where the key is missing.
  std::vector<int> integers(std::string_view key, int low, int high);
  /// A finite number in [low, high].
  double number(std::string_view key, double low, double high = kNoLimit);
  /// A finite number over 0.
  double positive(std::string_view key);
  std::optional<double> optional_positive(std::string_view key);
  bool boolean(std::string_view key, std::optional<bool> fallback = std::nullopt);
  /// A string of at least one character.
  std::string string(std::string_view key);
  /// A string, perhaps an empty one.
  std::string string(std::string_view key, const std::string& fallback);
  /// One of the names, as an index into them; 0 where it is none of them.
  std::size_t one_of(std::string_view key, std::span<const std::string> names,
                     std::optional<std::size_t> fallback = std::nullopt);
  template <typename Enum, std::size_t N>
  Enum one_of(std::string_view key, const std::array<PolicyName<Enum>, N>& names, Enum fallback);

  /// A reader of a member; silent where the member is missing or no object.
  JsonReader object(std::string_view key);
  JsonReader optional_object(std::string_view key);
  /// Readers of the elements, silent ones for elements that are no objects. At least one element.
  std::vector<JsonReader> objects(std::string_view key);
  /// The member as it is, or null where it is missing (no mistake yet).
  const Json* value(std::string_view key);

  /// The file that the document was read from, as the user spelled it.
  const std::string& file() const { return document_->file; }
  bool has(std::string_view key) const;
  /// True for a reader of nothing.
  bool silent() const { return value_ == nullptr; }
  /// How many mistakes all readers together have found so far.
  std::size_t n_problems() const { return problems_->size(); }
  std::string place(std::string_view key) const { return place_ + "/" + pointer_step(key); }
  /// Reports the value of a key, with the JSON that came.
  void refuse(std::string_view key, const std::string& expected);
  /// Reports the value of a key, with other words for what came.
  void refuse(std::string_view key, const std::string& expected, const std::string& got);

  /// Said of unread keys: "expected no such key for strategy ffd".
  void describe_as(const std::string& kind) { kind_ = kind; }
  void allow_any_keys() { any_keys_ = true; }
  /// Reports the keys that nobody asked for.
  void finish();

 private:
  static constexpr double kNoLimit = std::numeric_limits<double>::max();

  JsonReader(const JsonReader& parent, const Json* value, std::string place);
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
  std::string kind_;
  std::vector<std::string> known_;  // the keys that were asked for
  bool any_keys_ = false;
};

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
