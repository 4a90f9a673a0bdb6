#pragma once

#include <span>
#include <string>

#include "validation/validation_row.hpp"

namespace packsim {

/// Tables for the terminal: every row, then each set's bounds.
std::string validation_text(std::span<const ValidationSet> sets);
/// One JSON object with all sets, ends in a newline. Numbers that do not exist are null.
std::string validation_json(std::span<const ValidationSet> sets);
/// The same tables in Markdown.
std::string validation_markdown(std::span<const ValidationSet> sets);

/// The text between these lines of docs/accuracy.md is generated.
inline constexpr const char* kTablesBegin = "<!-- packsim validate: begin -->";
inline constexpr const char* kTablesEnd = "<!-- packsim validate: end -->";
/// `document` with what is between its two lines replaced. Throws std::invalid_argument where it has not
/// both, in this order.
std::string with_tables(const std::string& document, const std::string& tables);

/// "4 of 6 met; mean error 1.2 % (bound 1.5 %): met".
std::string set_summary(const ValidationSet& set);

}  // namespace packsim
