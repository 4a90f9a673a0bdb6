#pragma once

#include <span>
#include <string>

#include "reports/charts/chart_data.hpp"
#include "reports/charts/charts.hpp"

namespace packsim {

namespace formats_detail {

/// The charts as one JSON text, which the page embeds: {"theme": the Vega-Lite config, "specs": {name: spec},
/// "datasets": {name: rows}}. Specs refer to data sets by name.
std::string charts_json(std::span<const Chart> charts, const ChartData& data);

}  // namespace formats_detail

/// The same of a report, as charts.json; reports/saved/saved_charts.hpp reads it back.
std::string to_charts_json(const Report& report);

}  // namespace packsim
