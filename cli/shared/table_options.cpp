#include "cli/shared/table_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "cli/shared/terminal.hpp"
#include "scenarios/loader/json/json_text.hpp"
#include "scenarios/loader/json/suggest.hpp"

namespace packsim {
namespace {

std::vector<Column> chosen_columns(const std::vector<std::string>& names) {
  std::vector<Column> columns;
  std::string mistakes;
  for (const std::string& name : names) {
    if (const Column* column = find_column(name); column != nullptr) {
      columns.push_back(*column);
    } else {
      mistakes += fmt::format("{}--columns: expected the title or key of a column, got {} ({})",
                              mistakes.empty() ? "" : "\n", quote(name), suggest(name, column_names()));
    }
  }
  if (!mistakes.empty()) throw std::invalid_argument(mistakes);
  return columns;
}

}  // namespace

void add_table_options(CLI::App& command, TableArguments& arguments) {
  CLI::Option* wide =
      command.add_flag("--wide", arguments.wide, "Print all columns and all tables, however wide");
  command
      .add_option("--columns", arguments.columns,
                  "Print these columns, separated by commas: titles, or keys of report.csv")
      ->delimiter(',')
      ->excludes(wide);  // by name it would end the program without memory: CLI11 looks names up in a
                         // noexcept function
  command.add_flag("--explain", arguments.explain, "Print what each column means");
  command
      .add_option(
          "--color", arguments.colour,
          "auto: colours on a terminal, unless TERM=dumb or NO_COLOR is set; CLICOLOR_FORCE=1 forces them")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
}

TerminalOptions terminal_options(const TableArguments& arguments) {
  return {.width_columns = terminal_width_columns(),
          .wide = arguments.wide,
          .columns = chosen_columns(arguments.columns),
          .explain = arguments.explain,
          .colour = wants_colour(arguments.colour, stdout_is_terminal())};
}

}  // namespace packsim
