#pragma once

#include <cstdint>
#include <string>

#include "models/kernels/kernel_case.hpp"

namespace packsim::microbench {

/// What a machine has, as far as it is known.
struct MachineLimits {
  std::int64_t memory_bytes = 0;  ///< of a GPU; 0: not known
  std::int64_t n_gpus = 0;        ///< of the run; 0: not known
  bool has_cublaslt = false;
  bool has_cudnn = false;
  bool has_nccl = false;
};

/// Why the case would be skipped, without running anything; empty where nothing is known against it. A case
/// may still turn out too large, as libraries take workspaces.
std::string obstacle(const KernelCase& kernel, const MachineLimits& limits);

}  // namespace packsim::microbench
