#pragma once

#include "calibration/microbench/core/family.hpp"

namespace packsim::microbench {

/// Copies on the device, and between it and pinned memory of the host.
Prepared prepare_copy(const KernelCase& kernel, Device& device);
/// Empty kernels, one after the other in a stream.
Prepared prepare_launch_gap(const KernelCase& kernel, Device& device);

}  // namespace packsim::microbench
