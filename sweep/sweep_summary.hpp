#pragma once

#include <string>

#include "sweep/grid.hpp"
#include "sweep/sweep_database.hpp"

namespace packsim {

/// What became of the points, and those that take the fewest GPU-days.
std::string sweep_summary(SweepDatabase& database, const Grid& grid, int width_columns);

}  // namespace packsim
