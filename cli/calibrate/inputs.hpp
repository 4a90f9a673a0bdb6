#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "models/cluster.hpp"
#include "models/coverage/kernel_uses.hpp"
#include "models/kernels/hardware_profile.hpp"
#include "models/kernels/measurement.hpp"
#include "models/transformer.hpp"
#include "scenarios/loader/data_paths.hpp"

namespace packsim {

using ModelByName = std::function<Transformer(const std::string&)>;

/// Models by name or path. Every model is read once.
ModelByName models_by_name(const DataPaths& data);

/// The kernels of a case "step model=...", its model looked up by name.
std::function<std::vector<KernelUse>(const KernelCase&)> kernels_of_steps(const ModelByName& model,
                                                                          int gpus_per_node);

/// The GPU of all rows; "" without rows. A profile is of one: throws std::invalid_argument for several.
std::string gpu_of(const Measurements& measurements);

/// Warns of each of the GPUs, on which steps ran, that is not that of the hardware profile.
void warn_of_other_gpus(const std::set<std::string>& gpus, const HardwareProfile& hardware);
/// The same for that of --cluster.
void warn_of_other_gpus(const std::set<std::string>& gpus, const std::string& cluster_name,
                        const Cluster& cluster);

/// "12.3 ms": a time as people read it, three digits.
std::string readable_time(double time_s);
/// "+4.1 %".
std::string signed_percent(double fraction);

}  // namespace packsim
