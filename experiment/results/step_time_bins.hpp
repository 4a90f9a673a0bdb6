#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "experiment/results/report.hpp"

namespace packsim {

/// Joins neighbouring iterations so that a chart of any run stays small: at most `most_bins` bins of nearly
/// equal size that cover every iteration once, in order. A bin keeps its extremes, so no slow step
/// disappears.
///
/// step_s: [n_iterations]; none gives no bins. Throws std::invalid_argument where most_bins is zero.
std::vector<StepTimeBin> bin_step_times(std::span<const double> step_s, std::size_t most_bins);

}  // namespace packsim
