#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace packsim {

/// The known name that was probably meant: at most 2 edits (a swap of neighbours is one) and a third of the
/// length of `got` away, or 3 edits where `got` has at least 12 characters. Null if there is none.
const std::string* nearest_name(std::string_view got, std::span<const std::string> known);

/// "did you mean nodes?" where there is a nearest name, else "known: nodes, type".
std::string suggest(std::string_view got, std::span<const std::string> known);

/// "one of isf, ffd", with " (did you mean ffd?)" behind it where there is a nearest name.
std::string expected_one_of(std::string_view got, std::span<const std::string> known);

/// "a, b, c".
std::string join(std::span<const std::string> names);

/// The names of a table of policies (packing/policies/policies.hpp).
template <typename Names>
std::vector<std::string> names_in(const Names& table) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  return names;
}

}  // namespace packsim
