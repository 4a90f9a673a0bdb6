#include "sweep/scenario_of_grid.hpp"

#include "scenarios/loader/lengths/with_lengths.hpp"

namespace packsim {

Scenario scenario_of(const Grid& grid, const DataPaths& data, std::span<const std::string> settings,
                     MistakenStrategies mistaken) {
  const Scenario scenario =
      grid.scenario_text ? load_scenario_text(*grid.scenario_text, grid.scenario, data, settings, mistaken)
                         : load_scenario(grid.scenario, data, settings, mistaken);
  return grid.lengths.empty() ? scenario : with_sources(scenario, grid.lengths);
}

}  // namespace packsim
