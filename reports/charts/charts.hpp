#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/charts/chart_data.hpp"

namespace packsim::formats_detail {

/// A chart of the page. Everything about it is in reports/charts/<name>.vl.json: the Vega-Lite spec, and
/// under "usermeta" its title, its caption, its position on the page, the part of the page in which it is
/// folded away, the data set without whose rows it is not there, the fields of that data set that it
/// measures, what to say where all of these are 0, and what a reader chooses in it.
struct Chart {
  std::string name;
  std::string title;
  std::string caption;
  std::string fold;  ///< title of the part of the page that is folded; empty: the chart is in the open
  int position = 0;
  std::string if_zero;          ///< why there is nothing to draw; empty if there is
  nlohmann::ordered_json spec;  ///< null if there is nothing to draw
};

/// The charts whose data set has rows, in the order of the page. A chart is drawn if some row has a number
/// other than 0 in a field that it measures; otherwise, one that has something to say about it has no spec,
/// and others are left out. Each of a spec's "usermeta": {"choices": [{"param", "label", "data", "field",
/// "at"}]} becomes a parameter with a select of all values that the field has in rows with such a number; the
/// value at index `at` is chosen, or the last one.
std::vector<Chart> charts_of(const ChartData& data);

}  // namespace packsim::formats_detail
