#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/coverage/kernel_uses.hpp"
#include "scenarios/loader/data_paths.hpp"

namespace packsim {

/// The kernels of a case "step model=...", its model looked up by name. Every model is read once.
std::function<std::vector<KernelUse>(const KernelCase&)> kernels_of_steps(const DataPaths& data,
                                                                          int gpus_per_node);

/// "12.3 ms": a time as people read it, three digits.
std::string readable_time(double time_s);
/// "+4.1 %".
std::string signed_percent(double fraction);

}  // namespace packsim
