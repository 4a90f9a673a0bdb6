#pragma once

#include <cstddef>
#include <string>

#include "experiment/results/report.hpp"

namespace packsim::formats_detail {

/// How many runs charts and the page's tables show: as many names as fit below each other on a page of paper.
inline constexpr std::size_t kMostShownRuns = 32;

/// The report with the runs that are shown (foremost_runs()), in their order.
Report with_shown_runs(const Report& report);

/// Says how many runs are shown, which, and where all are; empty if all are shown.
std::string shown_runs_sentence(const Report& report);

}  // namespace packsim::formats_detail
