#pragma once

#include <cstdint>
#include <string>

namespace packsim {

/// The network of a cluster. Rates are of one direction, as the maker states them; what collectives reach
/// is the hardware profile's business. All 0: not stated, nothing contends.
struct Network {
  double nvlink_bytes_per_s = 0;  ///< of one GPU, to all others of its node together
  int nics_per_node = 0;          ///< shared evenly by the node's GPUs: a divisor or a multiple of them
  double nic_bytes_per_s = 0;     ///< of one
  double latency_s = 0;           ///< one way between two nodes
  bool rails = false;             ///< NIC i of every node is on leaf switches of its own (rail-optimised)
  int nodes_per_leaf = 0;         ///< nodes whose NICs share a leaf switch; 0: one leaf for all
  double oversubscription = 1;    ///< bytes/s of a leaf's NICs over those of its uplinks to the spine
  std::string source = {};
};

/// Equal nodes of equal GPUs.
struct Cluster {
  std::string name;
  std::string source;
  std::string gpu;  ///< what a profile must have been measured on
  int nodes = 1;
  int gpus_per_node = 8;
  std::int64_t gpu_memory_bytes = 0;  ///< usable, as the driver reports it
  Network network = {};
  double host_memory_bytes = 0;      ///< of a node; 0: not known
  double host_link_bytes_per_s = 0;  ///< PCIe of one GPU, one direction; 0: not known

  int n_gpus() const { return nodes * gpus_per_node; }
};

}  // namespace packsim
