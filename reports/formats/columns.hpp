#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiment/report.hpp"

namespace packsim::formats_detail {

/// A column of the comparison table that people read, in a terminal or on a page.
struct Column {
  std::string_view key;    ///< of the same number in report.json
  std::string_view group;  ///< columns with the same group stand beside each other
  std::string_view title;
  std::string_view unit;        ///< empty for plain numbers and ratios
  std::string_view definition;  ///< one sentence or two; the convention, not just the name
  std::string (*text)(const StrategyResult&);
};

/// Those of the report: variability and failures have columns where the scenario has them, planning where a
/// run has it.
std::vector<Column> columns(const Report& report);

}  // namespace packsim::formats_detail
