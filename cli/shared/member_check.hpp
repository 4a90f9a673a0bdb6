#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <vector>

#include "scenarios/loader/json/suggest.hpp"

namespace packsim {

/// Lets an option be one of these names alone; a name that is nearly one of them is answered with that one.
CLI::Validator member_check(std::vector<std::string> names);

/// The names of the option's member_check; none if it has none.
std::vector<std::string> members_of(CLI::Option& option);

}  // namespace packsim
