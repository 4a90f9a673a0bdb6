#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "scenarios/loader/lengths/bad_rows.hpp"

namespace packsim::length_formats {

// Each reads the lengths in the bytes of a file and reports the rows that have none; what it returns is of
// use only where nothing was reported.

std::vector<std::int32_t> csv(std::string_view bytes, BadRows& bad_rows);
std::vector<std::int32_t> jsonl(std::string_view bytes, BadRows& bad_rows);
std::vector<std::int32_t> npy(std::string_view bytes, BadRows& bad_rows);
std::vector<std::int32_t> histogram(std::string_view bytes, BadRows& bad_rows);

}  // namespace packsim::length_formats
