#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "experiment/results/report.hpp"

namespace packsim {

/// A value of a run; std::monostate if the run does not have it.
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

/// The tables of runs that people read, in a terminal or on a page.
enum class RunTable { comparison, use_and_cost };

/// How a value is shown in a table of runs.
struct Column {
  std::string_view group;  ///< columns of one group are side by side, in one table
  /// 1 for the most important column, and no number twice: where room is short, columns with larger numbers
  /// are left out first.
  int priority = 0;
  std::string_view title;
  std::string_view unit;  ///< empty for plain numbers and ratios
  /// One or two sentences that state the convention, not just the name.
  std::string_view definition;
  std::function<std::string(const StrategyResult&)> text;
};

/// One value of a run, for all formats.
struct RunValue {
  /// Key in report.json and report.csv; empty if only people read the value.
  std::string key = {};
  std::function<Value(const StrategyResult&)> value = {};
  std::optional<Column> column = {};  ///< if not set, only programs read the value
};

/// All values of a run, in the order in which all formats show them. Lists, such as groups and step times,
/// are not included, nor are the times that packsim itself took.
std::span<const RunValue> run_values();

/// The columns of one table of a report. Variability, planning, failures, reordering, prices and power have
/// columns only where the report has them. use_and_cost has none if no run has times.
std::vector<Column> columns(const Report& report, RunTable table);

/// The column with this title or this key, whether a report shows it or not; null if there is none.
const Column* find_column(std::string_view title_or_key);

/// The same by the title, the title with its unit ("wall h"), or the key, and a column for the key of a value
/// that no table shows; none if no value of a run has this name.
std::optional<Column> column_named(std::string_view name);

/// The titles of all columns, and then the keys of all values, each once.
std::vector<std::string> column_names();

}  // namespace packsim
