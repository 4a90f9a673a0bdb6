#pragma once

#include <string>
#include <vector>

#include "models/kernels/hardware_profile.hpp"
#include "scenarios/loader/data_paths.hpp"

namespace packsim {

/// The hardware profiles of the data root, with the data sheets of their GPUs.
struct KernelSources {
  std::vector<HardwareProfile> all = {};
  /// Those that framework profiles are on. Kernels that a scenario's GPU lacks come from there.
  std::vector<HardwareProfile> base = {};
};

/// Throws ScenarioError, FileError.
KernelSources load_kernel_sources(const DataPaths& data);

/// A table with a row for each GPU of the data root: which kinds of kernels were measured on it, are scaled
/// from another GPU, or have a price by a rule. Below it, what these words mean.
std::string kernel_support_text(const KernelSources& sources, const DataPaths& data);

}  // namespace packsim
