#pragma once

#include <string>
#include <vector>

#include "scenarios/loader/json/json_document.hpp"

namespace packsim {

/// A value of a chart that may be set: a Vega-Lite param with a value, such as the run that a waterfall
/// starts from.
struct ChartParameter {
  std::string name;
  std::string value;                 ///< as the spec has it; empty if it has none
  std::vector<std::string> choices;  ///< all that it may be; empty: any text
};

struct SavedChart {
  std::string name;
  std::string title;
  bool has_width = false;  ///< one width of its own; charts that are made of parts have none
  std::vector<ChartParameter> parameters;
};

/// The charts of a report that an earlier run wrote.
struct SavedCharts {
  JsonDocument document;  ///< charts.json
  std::vector<SavedChart> charts;

  /// Throws std::invalid_argument, with the name that was probably meant, where the report has no such chart.
  const SavedChart& find(const std::string& name) const;
};

/// Reads charts.json: itself, beside a report.json, or in a folder. Throws ScenarioError with all mistakes;
/// std::invalid_argument where a report has no charts.json, as an older version wrote it; and FileError where
/// a file cannot be read.
SavedCharts load_charts(const std::string& path);

}  // namespace packsim
