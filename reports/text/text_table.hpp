#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace packsim::formats_detail {

/// Columns that a text takes in a terminal: its code points.
std::size_t width_of(std::string_view text);

/// Columns of text, two spaces apart: the first aligned left, the others right. Rows may be shorter than
/// others.
std::string text_table(const std::vector<std::vector<std::string>>& rows);

/// Breaks at spaces so that lines stay within width_columns where words allow it. Lines after the first are
/// indented by `indent` columns; the first one is as it is given.
std::string wrapped(std::string_view text, int width_columns, int indent);

}  // namespace packsim::formats_detail
