#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/saved/saved_charts.hpp"

namespace packsim {

/// What may be changed of a chart before it is drawn.
struct ChartSettings {
  std::optional<int> width_px;          ///< none: as the spec says, 900 where it fills the page
  std::vector<std::string> parameters;  ///< "NAME=VALUE"
};

/// A chart as one Vega-Lite spec that needs nothing else: with the theme as its config, on white, with the
/// data sets that it names and no others, and with a width in pixels. Throws std::invalid_argument with all
/// mistakes in the settings. python/packsim/charts.py makes the same.
std::string chart_spec(const SavedCharts& charts, const std::string& name, const ChartSettings& settings);

}  // namespace packsim
