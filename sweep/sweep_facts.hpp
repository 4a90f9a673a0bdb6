#pragma once

#include <string>

#include "scenarios/loader/data_paths.hpp"
#include "sweep/grid.hpp"
#include "sweep/sweep_database.hpp"

namespace packsim {

/// What decides the points of a sweep: the grid, its scenario and every file that this names for some value
/// of the grid, as they are now, packsim's version, and the shard. Throws what load_scenario() and
/// draw_lengths() throw.
SweepFacts sweep_facts(const Grid& grid, const DataPaths& data, const std::string& version,
                       const std::string& shard);

}  // namespace packsim
