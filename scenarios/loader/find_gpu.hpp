#pragma once

#include <optional>
#include <string>

#include "models/gpu.hpp"
#include "scenarios/loader/data_paths.hpp"

namespace packsim {

/// The file of models/gpus whose GPU has this driver_name; none if there is no such file. Throws
/// ScenarioError with what is wrong with the files.
std::optional<Gpu> find_gpu(const std::string& driver_name, const DataPaths& data);

}  // namespace packsim
