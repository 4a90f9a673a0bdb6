#pragma once

#include <string>

namespace packsim {

/// Columns of the terminal that stdout is; if it is none, those of the environment variable COLUMNS; else 80.
int terminal_width_columns();

/// Whether to send colours to stdout. choice: "always", "never" or "auto". For auto, the first rule that
/// applies decides: NO_COLOR that is not empty: no; CLICOLOR_FORCE that is neither empty nor 0: yes;
/// TERM=dumb: no; else yes if stdout is a terminal.
bool wants_colour(const std::string& choice, bool is_terminal);
bool stdout_is_terminal();

}  // namespace packsim
