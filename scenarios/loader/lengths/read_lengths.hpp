#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/loader/json/problems.hpp"

namespace packsim {

/// The token lengths in a file, [n_samples], each in 0..16777216, in the order of the file.
///
/// The extension says how to read it: .csv (a `tokens` column, or `prompt` + `response`, or one column of
/// numbers without a header; RFC 4180), .jsonl (lines that are integers, or objects with tokens, length,
/// prompt + response, or the array input_ids),
/// .npy (1-D, little-endian i4, i8, u2, u4 or u8), .json (a histogram; ascending lengths). Throws
/// ScenarioError with the bad rows (the first 10 and how many there are), FileError where the file cannot be
/// read.
std::vector<std::int32_t> read_lengths(const std::string& path);

/// The same from bytes that were read before. Leaves bad rows in `problems`.
std::vector<std::int32_t> parse_lengths(const std::string& path, std::string_view bytes, Problems& problems);

/// True where the extension is one of those above, and of standard input, whose start tells: { for JSON lines
/// (or a histogram, if that word follows), NumPy's own, anything else for CSV.
bool is_lengths_file(const std::string& path);
/// "a file of a known kind (.csv, .jsonl, .npy, .json)" and, of data that the Python package measures, with
/// what command.
std::string expected_lengths_file(const std::string& path);

}  // namespace packsim
