#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "experiment/results/strategy_result.hpp"

namespace packsim {

/// Joins neighbouring iterations so that a chart of any run stays small: at most `most_bins` bins of nearly
/// equal size that cover every iteration once, in order. A bin keeps its extremes, so no slow step
/// disappears.
///
/// values: [n_iterations], one of each iteration; none gives no bins. Throws std::invalid_argument where
/// most_bins is zero.
std::vector<IterationBin> bin_iterations(std::span<const double> values, std::size_t most_bins);

}  // namespace packsim
