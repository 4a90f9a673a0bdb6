#pragma once

#include <string>

#include "experiment/report.hpp"

namespace packsim::formats_detail {

/// The data sets that reports/charts/*.vl.json name, as one JSON object from name to rows: "runs",
/// "parts" (what some run spends time on), "time_parts", "lengths", "step_times" and "rank_work". Runs that
/// do not fit have no times. Numbers keep five digits, and series are arrays in one row, which the specs
/// flatten: the page stays small.
std::string chart_data(const Report& report);

}  // namespace packsim::formats_detail
