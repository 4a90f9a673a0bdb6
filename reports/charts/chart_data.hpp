#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "experiment/results/report.hpp"

namespace packsim::formats_detail {

/// The data sets that the specs in reports/charts/ name.
struct ChartData {
  nlohmann::ordered_json sets;  ///< from the name of a data set to its rows

  bool has_rows(std::string_view name) const;
};

/// The data sets have the runs of with_shown_runs(). Runs that do not fit have no times. Numbers keep five
/// digits, and series are arrays in one row, which the specs flatten: the page stays small.
ChartData chart_data(const Report& report);

}  // namespace packsim::formats_detail
