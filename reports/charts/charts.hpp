#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/charts/chart_data.hpp"

namespace packsim::formats_detail {

/// A chart of the page. Everything about it is in reports/charts/<name>.vl.json: the Vega-Lite spec, and
/// under "usermeta" its title, its caption, its position on the page, the data set without whose rows it
/// is not shown, and what a reader chooses in it.
struct Chart {
  std::string name;
  std::string title;
  std::string caption;
  int position = 0;
  nlohmann::ordered_json spec;
};

/// The charts that have something to show, in the order of the page. Each of a spec's
/// "usermeta": {"choices": [{"param", "label", "data", "field", "at"}]} becomes a parameter with a select of
/// all values that the field has in the data set; the value at index `at` is chosen, or the last one.
std::vector<Chart> charts_of(const ChartData& data);

}  // namespace packsim::formats_detail
