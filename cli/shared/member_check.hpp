#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <vector>

namespace packsim {

/// Lets an option be one of these names alone; a name that is nearly one of them is answered with that one.
CLI::Validator member_check(std::vector<std::string> names);

/// The names of the option's member_check; none if it has none.
std::vector<std::string> members_of(CLI::Option& option);

/// The names of a table of policies (packing/policies.hpp).
template <typename Names>
std::vector<std::string> names_in(const Names& table) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  return names;
}

}  // namespace packsim
