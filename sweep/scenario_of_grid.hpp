#pragma once

#include <span>
#include <string>

#include "scenarios/loader/data_paths.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/scenario.hpp"
#include "sweep/grid.hpp"

namespace packsim {

/// The scenario of a grid with these settings, such as those of a job. Throws as load_scenario() does.
Scenario scenario_of(const Grid& grid, const DataPaths& data, std::span<const std::string> settings,
                     MistakenStrategies mistaken = MistakenStrategies::refuse);

}  // namespace packsim
