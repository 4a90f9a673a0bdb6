#pragma once

#include <span>
#include <string>

#include "validation/validation_row.hpp"

namespace packsim {

/// Tables for the terminal: every row, then each set's bounds.
std::string validation_text(std::span<const ValidationSet> sets);
/// One JSON object with all sets; ends in a newline. Numbers that do not exist are null.
std::string validation_json(std::span<const ValidationSet> sets);
/// A set as a section of a Markdown page: its title, what its numbers rest on, its rows and their notes.
std::string set_markdown(const ValidationSet& set);

/// Begins a generated part of a page in docs/. The name of a set follows, or "summary", which has a
/// row for every set: `<!-- packsim validate: begin hbp-steps -->`.
inline constexpr const char* kTablesBegin = "<!-- packsim validate: begin ";
/// Ends it.
inline constexpr const char* kTablesEnd = "<!-- packsim validate: end -->";
/// The page with the tables of `sets` in its generated parts. Parts of other sets stay as they are, and so
/// does the summary if `sets` does not have all sets. Throws std::invalid_argument for a part without an end,
/// or of a name that no set has.
std::string with_tables(const std::string& page, std::span<const ValidationSet> sets);

/// "4 of 6 met; mean error 1.2 % (bound 1.5 %): met".
std::string set_summary(const ValidationSet& set);

}  // namespace packsim
