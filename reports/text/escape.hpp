#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace packsim::formats_detail {

/// Text from files and arguments is data: no character of it may act on what shows it. Every output takes it
/// through one of these functions. What acts is written as its code instead: \x1b for control characters (C0,
/// C1, DEL), \u202e for characters that change the direction of text, have no width or separate lines, \xff
/// for a byte that is not UTF-8.

/// The longest name, and the longest other text, that terminals show whole, in characters.
inline constexpr std::size_t kLongestName = 100;
inline constexpr std::size_t kLongestLine = 4000;

/// Text for one line of a terminal: line feeds and tabs are escaped too. Of longer text the middle is left
/// out, and its place says how many characters the text has.
std::string printable(std::string_view text, std::size_t most_characters = kLongestLine);

/// A name in a table or a sentence: printable(), with at most kLongestName characters.
std::string printable_name(std::string_view name);

/// The same for text of several lines, each of which is shortened by itself.
std::string printable_lines(std::string_view text);

/// A field of a CSV file, quoted where it has to be (RFC 4180). Text that a spreadsheet would take for a
/// formula, as it starts with = + - @ or a tab or carriage return, gets an apostrophe in front, which
/// spreadsheets do not show; numbers such as -1.5 stay as they are. Line feeds, carriage returns and tabs
/// stay; all else that acts is escaped.
std::string csv_field(std::string_view text);

/// Text between tags or in an attribute of a page. Line feeds and tabs stay.
std::string html_escaped(std::string_view text);

/// JSON inside a <script> element: no text ends the element, and all characters are such as HTML allows. It
/// is still the same JSON.
std::string script_escaped(std::string_view json);

}  // namespace packsim::formats_detail
