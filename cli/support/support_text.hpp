#pragma once

#include <string>

#include "scenarios/loader/data_paths.hpp"

namespace packsim {

/// What prices rest on, by GPU, plan and model, and what no scenario can ask for, as tables of at most 110
/// columns. Throws ScenarioError, FileError.
std::string support_text(const DataPaths& data);

}  // namespace packsim
