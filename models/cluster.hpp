#pragma once

#include <cstdint>
#include <string>

namespace packsim {

/// Equal nodes of equal GPUs.
struct Cluster {
  std::string name;
  std::string source;
  std::string gpu;  ///< what a profile must have been measured on
  int nodes = 1;
  int gpus_per_node = 8;
  std::int64_t gpu_memory_bytes = 0;  ///< usable, as the driver reports it

  int n_gpus() const { return nodes * gpus_per_node; }
};

}  // namespace packsim
