#pragma once

#include <string>

namespace packsim {

/// Whether a path is one of data that the Python package measures, such as a .parquet file or a folder.
bool is_data_to_measure(const std::string& path);

/// The command that measures the lengths of such data, or of a column of JSON lines (docs/lengths.md).
std::string measuring_command(const std::string& path, const std::string& column = "text");

}  // namespace packsim
