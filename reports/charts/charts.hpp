#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/charts/chart_data.hpp"

namespace packsim::formats_detail {

/// A chart of the page. Everything about it is in reports/charts/<name>.vl.json: the Vega-Lite spec, and
/// under "usermeta" its title, its caption, its position on the page, and the data set without whose rows it
/// is not shown.
struct Chart {
  std::string name;
  std::string title;
  std::string caption;
  int position = 0;
  std::string_view spec;  ///< the whole file
};

/// The charts that have something to show, in the order of the page.
std::vector<Chart> charts_of(const ChartData& data);

}  // namespace packsim::formats_detail
