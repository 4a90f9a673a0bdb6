#pragma once

#include <string>

#include "experiment/results/report.hpp"

namespace packsim {

/// One self-contained page: summary, comparison, charts drawn by Vega-Lite in the browser, group plans, data
/// accounting, provenance and definitions. It loads nothing, prints well, and shows its tables without
/// scripts.
std::string to_html(const Report& report);

}  // namespace packsim
