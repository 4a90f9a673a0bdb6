#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiment/results/report.hpp"

namespace packsim::formats_detail {

/// The data sets that the specs in reports/charts/ name.
struct ChartData {
  std::string json;                    ///< one object, from the name of a data set to its rows
  std::vector<std::string> with_rows;  ///< the names of those that are not empty

  bool has_rows(std::string_view name) const;
};

/// Runs that do not fit have no times. Numbers keep five digits, and series are arrays in one row, which the
/// specs flatten: the page stays small.
ChartData chart_data(const Report& report);

}  // namespace packsim::formats_detail
