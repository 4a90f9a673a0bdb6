#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "reports/formats/terminal_format.hpp"

namespace packsim {

/// What --wide, --columns, --explain and --color say.
struct TableArguments {
  bool wide = false;
  std::vector<std::string> columns;
  bool explain = false;
  std::string colour = "auto";
};

void add_table_options(CLI::App& command, TableArguments& arguments);

/// The options for this terminal. Throws std::invalid_argument with every column that does not exist.
TerminalOptions terminal_options(const TableArguments& arguments);

}  // namespace packsim
