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

/// Nothing where a run does not have the value.
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

/// How a value stands in the comparison table that people read, in a terminal or on a page.
struct Column {
  std::string_view group;  ///< columns of one group stand beside each other
  std::string_view title;
  std::string_view unit;        ///< empty for plain numbers and ratios
  std::string_view definition;  ///< one sentence or two; the convention, not just the name
  std::function<std::string(const StrategyResult&)> text;
};

/// One value of a run, in all formats.
struct RunValue {
  std::string key = {};  ///< in report.json and report.csv; empty where only people read the column
  std::function<Value(const StrategyResult&)> value = {};
  std::optional<Column> column = {};  ///< none: only programs read it
};

/// Every value of a run, in the order in which all formats show them. Lists, such as groups and step times,
/// and what packsim itself took are not among them.
std::span<const RunValue> run_values();

/// The columns of a report's comparison table. Variability, planning, failures and reordering have columns
/// only where the report has them.
std::vector<Column> columns(const Report& report);

}  // namespace packsim
