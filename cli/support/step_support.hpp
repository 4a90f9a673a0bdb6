#pragma once

#include <string>

#include "cli/support/kernel_support.hpp"
#include "scenarios/loader/data_paths.hpp"

namespace packsim {

/// A table with a row for each thing that a plan can have (kPlanTraits): which framework profiles had steps
/// with it, and the error that steps with it get under the others. Throws ScenarioError, FileError.
std::string trait_support_text(const DataPaths& data);

/// A table with a row for each model of the data root: its kind, how well its attention kernels are known,
/// and which framework profiles had steps of it. Throws ScenarioError, FileError.
std::string model_support_text(const KernelSources& sources, const DataPaths& data);

}  // namespace packsim
