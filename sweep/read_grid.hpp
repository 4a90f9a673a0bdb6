#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scenarios/loader/data_paths.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/scenario.hpp"
#include "sweep/grid.hpp"

namespace packsim {

/// What a grid is read from.
struct GridSource {
  std::string path;  ///< a file, or the name of a shipped scenario; of a text, its name in messages
  std::optional<std::string> text = {};    ///< of a grid or scenario that no file holds
  std::vector<LengthSource> lengths = {};  ///< in place of the scenario's, if there are any
  std::vector<std::string> varied;         ///< "KEY=VALUE,VALUE..." of a command line, each an axis
  /// Further axes as JSON: {"vary": {KEY: VALUES, ...}, "zipped": [AXIS, ...]}, of which each key of "vary"
  /// is an axis. Empty: none.
  std::string axes = {};
  std::vector<std::string> settings;  ///< "KEY=VALUE" of all points
};

/// Reads a grid file (docs/sweep.md) or a scenario, which is a grid without axes. The axes of the file come
/// first. A grid without kStrategyKey gets an axis with all strategies of its scenario, before the others.
///
/// Throws ScenarioError with all mistakes of the grid, and what load_scenario() throws where the scenario has
/// mistakes without the values of the axes.
Grid read_grid(const GridSource& source, const DataPaths& data);

/// The scenario of a grid with these settings, such as those of a job. Throws as load_scenario() does.
Scenario scenario_of(const Grid& grid, const DataPaths& data, std::span<const std::string> settings,
                     MistakenStrategies mistaken = MistakenStrategies::refuse);

}  // namespace packsim
