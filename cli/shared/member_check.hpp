#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/loader/json/suggest.hpp"

namespace packsim {

/// Lets an option be one of these names alone; a name that is nearly one of them is answered with that one.
CLI::Validator member_check(std::vector<std::string> names);

/// The names of the option's member_check; none if it has none.
std::vector<std::string> members_of(CLI::Option& option);

/// Lets an option take a number of tokens in [low, high] as people write it: 65536 or 64K.
CLI::Validator token_check(std::int64_t low, std::int64_t high);

/// Lets an option be a number above 0, however small.
CLI::Validator positive_check();

}  // namespace packsim
