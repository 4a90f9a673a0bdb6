#pragma once

#include <string>
#include <vector>

#include "experiment/results/report.hpp"
#include "reports/tables/run_values.hpp"

namespace packsim {

/// The narrowest terminal for which lines are laid out.
inline constexpr int kNarrowestTerminal_columns = 40;

struct TerminalOptions {
  int width_columns = 80;
  /// All columns and the further tables, some of them wider than the terminal.
  bool wide = false;
  /// The columns of the table, in this order and however wide; empty: the most important ones that fit.
  std::vector<Column> columns = {};
  bool explain = false;  ///< what each column means
  bool colour = false;   ///< escape sequences for bold and colours
};

/// The verdict in at most 23 lines, a table of the foremost runs, and what happened to runs: some 35 lines,
/// and more only where there are warnings, or data that are not trained. `wide` and `columns` show all runs
/// and notes. Lines are no wider than width_columns or kNarrowestTerminal_columns, unless one of these asks
/// for more. All text from files is escaped: the only escape sequences are those of `colour`.
std::string to_terminal(const Report& report, const TerminalOptions& options);

}  // namespace packsim
