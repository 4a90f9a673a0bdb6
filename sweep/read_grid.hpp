#pragma once

#include <string>
#include <vector>

#include "scenarios/loader/data_paths.hpp"
#include "sweep/grid.hpp"

namespace packsim {

/// Reads a grid file (docs/sweep.md) or a scenario, which is a grid without axes.
///
/// path: a file, or the name of a shipped scenario. varied: "KEY=VALUE,VALUE..." of a
/// command line, each an axis after those of the file; settings: "KEY=VALUE" of all points. A grid without
/// kStrategyKey gets an axis with all strategies of its scenario, before the others.
///
/// Throws ScenarioError with all mistakes of the grid, and what load_scenario() throws where the scenario has
/// mistakes without the values of the axes.
Grid read_grid(const std::string& path, const std::vector<std::string>& varied,
               const std::vector<std::string>& settings, const DataPaths& data);

}  // namespace packsim
