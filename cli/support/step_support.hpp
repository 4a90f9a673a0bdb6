#pragma once

#include <string>

#include "cli/support/kernel_support.hpp"
#include "scenarios/loader/data_paths.hpp"

namespace packsim {

/// A table of the framework profiles of the data root: the GPU and the number of GPUs of the steps that each
/// was fitted to, its error on steps that were left out, and what these steps had (kPlanTraits). Throws
/// ScenarioError, FileError.
std::string profile_support_text(const DataPaths& data);

/// A table of the errors that steps get with each of kPlanTraits that a profile's steps did not have.
std::string trait_support_text();

/// A table with a row for each model of the data root: its kind, how well its attention kernels are known,
/// and which framework profiles had steps of it. Throws ScenarioError, FileError.
std::string model_support_text(const KernelSources& sources, const DataPaths& data);

}  // namespace packsim
