#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace packsim {

/// A list of what is wrong with a plan, each as "place: expected ..., got ...".
class Mistakes {
 public:
  void add(const std::string& place, const std::string& expected, const std::string& got) {
    texts_.push_back(place + ": expected " + expected + ", got " + got);
  }
  template <typename Number>
  void add(const std::string& table, std::size_t index, const std::string& expected, Number got) {
    add(table + "[" + std::to_string(index) + "]", expected, number_text(got));
  }
  /// Adds the first of `values` that is bad. Most files have none, so they are looked through without a
  /// branch.
  template <typename Number, typename IsBad>
  void add_first(const std::string& table, std::span<const Number> values, const std::string& expected,
                 const IsBad& is_bad) {
    bool any = false;
    for (std::size_t i = 0; i < values.size(); ++i) any |= is_bad(i, values[i]);
    for (std::size_t i = 0; any && i < values.size(); ++i) {
      if (is_bad(i, values[i])) return add(table, i, expected, values[i]);
    }
  }
  void expect_size(const std::string& table, std::size_t n, std::size_t expected) {
    if (n != expected) add(table, std::to_string(expected) + " elements", std::to_string(n));
  }
  /// A number of the facts that other numbers of the file give. why: what it is, such as "the sum of all
  /// lengths".
  void expect_fact(const std::string& key, std::int64_t value, std::int64_t expected,
                   const std::string& why) {
    if (value != expected)
      add("facts: /" + key, std::to_string(expected) + ", " + why, std::to_string(value));
  }
  bool any() const { return !texts_.empty(); }
  std::vector<std::string> take() && { return std::move(texts_); }

  template <typename Number>
  static std::string number_text(Number number) {
    if constexpr (std::is_floating_point_v<Number>) {
      char text[32];
      std::snprintf(text, sizeof(text), "%.17g", number);
      return text;
    } else {
      return std::to_string(number);
    }
  }

 private:
  std::vector<std::string> texts_;
};

}  // namespace packsim
