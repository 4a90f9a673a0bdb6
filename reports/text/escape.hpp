#pragma once

#include <string>
#include <string_view>

namespace packsim::formats_detail {

/// Text from files and arguments as data of a report: what acts is written as its code
/// (files/text/visible.hpp). Of terminals, files/text/printable.hpp does it.

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
