#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace packsim::formats_detail {

/// Columns that a terminal needs for text without control characters and escape sequences: two for characters
/// of East Asian scripts and emoji, none for the common combining accents, one for all others. In doubt, more
/// than terminals need, so that no line is wider than it was asked to be.
std::size_t display_columns(std::string_view text);

/// The longest start of the text that fits into the columns, but at least one character of a text that has
/// any.
std::string_view start_within(std::string_view text, std::size_t columns);

/// The text, or if it is wider than `columns` its start and its end around "..".
std::string shortened(std::string_view text, std::size_t columns);

}  // namespace packsim::formats_detail
