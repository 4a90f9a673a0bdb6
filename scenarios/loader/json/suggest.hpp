#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace packsim {

/// The known names that were probably meant, the most likely first. One name where it is few edits away: at
/// most 2 (a swap of neighbours is one) and a third of the length of `got`, or 3 where `got` has at least 12
/// characters. Case and separators count as no edit: "H100_SXM-80GB" is "h100-sxm-80gb". Else up to three
/// names that `got` is a part of ("H100", "price"), or that are a part of it ("Qwen2.5-7B-Instruct").
std::vector<std::string> nearest_names(std::string_view got, std::span<const std::string> known);

/// "did you mean a, b or c?"; nothing without names.
std::string did_you_mean(std::span<const std::string> names);

/// "did you mean nodes?" where there are nearest names, else "known: nodes, type". A long list of known names
/// is cut to the five that differ least, if there is a command that lists all.
std::string suggest(std::string_view got, std::span<const std::string> known,
                    std::string_view listing_command = {});

/// "one of isf, ffd", with " (did you mean ffd?)" behind it where there are nearest names.
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
