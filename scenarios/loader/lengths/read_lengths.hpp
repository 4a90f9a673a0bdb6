#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/loader/json/problems.hpp"

namespace packsim {

/// The token lengths in a file, [n_samples], each in 0..16777216, in the order of the file.
///
/// By extension: .csv (a `tokens` column, or `prompt` + `response`, or one column of numbers without a
/// header; RFC 4180), .jsonl (lines that are integers, or objects with tokens, length, or prompt + response),
/// .npy (1-D, little-endian i4, i8, u2, u4 or u8), .json (a histogram; ascending lengths). Throws
/// ScenarioError with the bad rows (the first 10 and how many there are), FileError where the file cannot be
/// read.
std::vector<std::int32_t> read_lengths(const std::string& path);

/// The same from bytes that were read before. Leaves bad rows in `problems`.
std::vector<std::int32_t> parse_lengths(const std::string& path, std::string_view bytes, Problems& problems);

/// True where the extension is one of those above.
bool is_lengths_file(const std::string& path);
/// ".csv, .jsonl, .npy, .json".
std::string lengths_file_kinds();

}  // namespace packsim
