#pragma once

#include <string>
#include <vector>

#include "calibration/microbench/distributed/processes/processes.hpp"

namespace packsim::microbench {

/// The node that this process runs on, told apart by name and boot as NCCL does: two containers of one host
/// with names of their own count as two.
std::string node_name();

/// CUDA's numbers of the GPUs that this process drives: all that it sees, or its share of them where other
/// processes of the node see the same. All processes call it together. Throws std::runtime_error where
/// there is no GPU for a process.
std::vector<int> choose_gpus(ControlChannel& channel);

}  // namespace packsim::microbench
