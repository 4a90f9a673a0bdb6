#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/gpu.hpp"
#include "models/network_design.hpp"

namespace packsim {

/// The network of a cluster in numbers; network_of() draws it as a graph. Rates are of one direction, as the
/// maker states them; what collectives reach of them is in the hardware profile. If all are 0, the network is
/// not stated, and transfers do not slow each other down.
struct Network {
  double nvlink_bytes_per_s = 0;  ///< of one GPU, to all others of its node together
  int nics_per_node = 0;          ///< a divisor or a multiple of the node's GPUs, which share them evenly
  double nic_bytes_per_s = 0;     ///< rate of one network card
  double latency_s = 0;           ///< one way between two nodes
  bool rails = false;             ///< NIC i of every node is on leaf switches of its own (rail-optimised)
  int nodes_per_leaf = 0;         ///< nodes that share a leaf switch; 0: one leaf switch for all nodes
  double oversubscription = 1;    ///< rate of a leaf switch's NICs over the rate of its uplinks
  std::string source = {};
};

/// Equal nodes of equal GPUs.
struct Cluster {
  std::string name;
  std::string source;
  Gpu gpu;
  int nodes = 1;
  int gpus_per_node = 8;
  Network network = {};
  std::optional<NetworkDesign> design = {};      ///< the network as a graph, in place of numbers
  std::optional<double> host_memory_bytes = {};  ///< of a node
  /// Peak bandwidth of a node's host memory: channels of all its processors times the rate of one.
  std::optional<double> host_memory_bytes_per_s = {};
  std::optional<double> host_link_bytes_per_s = {};  ///< from one GPU to the host, one direction

  /// What an hour of one GPU costs, in any currency. It belongs to the booked machine, not to its type.
  std::optional<double> gpu_hour_price = {};

  int n_gpus() const { return nodes * gpus_per_node; }
};

}  // namespace packsim
