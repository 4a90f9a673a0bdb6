#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace packsim {

/// Lets an option take a number of tokens in [low, high] as people write it: 65536 or 64K.
CLI::Validator token_check(std::int64_t low, std::int64_t high);

}  // namespace packsim
