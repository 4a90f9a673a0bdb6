#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace packsim::formats_detail {

/// Columns of text, two spaces apart: the first aligned left, the others right. Rows may be shorter than
/// others.
std::string text_table(const std::vector<std::vector<std::string>>& rows);
std::vector<std::string> table_lines(const std::vector<std::vector<std::string>>& rows);

/// Breaks at spaces, and words that are longer than a line inside, so that no line is wider than
/// width_columns. Lines after the first are indented by `indent` columns; the first one is as it is given.
std::string wrapped(std::string_view text, int width_columns, int indent);
std::vector<std::string> wrapped_lines(std::string_view text, std::size_t width_columns, std::size_t indent);

}  // namespace packsim::formats_detail
