#pragma once

#include <string>

#include "scenarios/loader/data_paths.hpp"
#include "scenarios/loader/json/json_text.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// The scenario as JSON, with relative paths that hold from the folder of `to`, where it is going to be
/// written. Throws FileError where the scenario's file cannot be read again.
Json moved_scenario(const Scenario& scenario, const std::string& to, const DataPaths& data);

}  // namespace packsim
