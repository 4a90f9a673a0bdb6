#pragma once

#include <string>

#include "sweep/grid.hpp"
#include "sweep/sweep_database.hpp"

namespace packsim {

/// What became of the points, and the best of those that can be compared: the ones that cost least, if all
/// have a price, or else those that take the fewest GPU-days. Each varied key has a column, however narrow.
std::string sweep_summary(SweepDatabase& database, const Grid& grid, int width_columns);

}  // namespace packsim
