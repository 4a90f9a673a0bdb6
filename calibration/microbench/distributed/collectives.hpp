#pragma once

#include <string>
#include <vector>

#include "calibration/microbench/core/family.hpp"

namespace packsim::microbench {

/// The families "collective" and "overlap", for all ranks. Without NCCL in the build every case is
/// Unavailable. Out of place, random bf16 values.
///
/// A sample of a collective is the time between two CUDA events around one call (short ones: around a batch,
/// the detail "calls"), on the slowest GPU of all processes. Everything is queued before the first GPU
/// starts, and a barrier on the GPUs starts them together: the time to launch is not in it.
Prepared prepare_collective(const KernelCase& kernel, Device& device);
/// A sample is the time of the product, on the slowest GPU, while the collective runs again and again on
/// another stream from before the product to after it.
Prepared prepare_overlap(const KernelCase& kernel, Device& device);
/// "NCCL 2.32.3", or why there is none.
std::string collective_standing(const Device& device);

/// Ends NCCL's communicators, before the Device and the channel go. All processes call it together at the
/// end of a good run; while an exception is on its way it does nothing.
void close_collectives();

struct CollectiveCheck {
  std::string text;  ///< "all_gather on 16 GPUs of 2 nodes: right", or what was wrong where
  bool is_right = true;
};
/// Runs every collective once with known values on all GPUs and on all of a node, the all-to-all unevenly,
/// too, and compares element by element. All processes call it together and get the same. Throws as the
/// families do; empty without NCCL in the build.
std::vector<CollectiveCheck> verify_collectives(Device& device);

}  // namespace packsim::microbench
