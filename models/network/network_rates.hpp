#pragma once

#include <vector>

#include "models/cluster.hpp"
#include "models/network/network_graph.hpp"

namespace packsim {

/// What the GPUs of a part of a cluster can send out of it together, one way.
struct PartRate {
  int nodes = 1;               ///< of the part
  double gpu_bytes_per_s = 0;  ///< the part's rate by the number of its GPUs
};

/// What a network can carry, for prices. 0: not known.
struct NetworkRates {
  double gpu_bytes_per_s =
      0;  ///< of one GPU to the others of its node, if all send equally much to each other
  /// First a node, then the blocks of nodes that share switches, smallest first. Empty without NICs.
  std::vector<PartRate> parts;
  double latency_s = 0;  ///< the least one way between two nodes

  double nic_bytes_per_s() const { return parts.empty() ? 0 : parts.front().gpu_bytes_per_s; }
};

/// Of a cluster's network, whatever its number of nodes. The rate out of a part is the maximum flow from its
/// GPUs to switches that it shares with other parts.
NetworkRates network_rates(const Cluster& cluster);

/// The maximum flow from the GPUs of the first half of the nodes (of one node: of its GPUs) to those of the
/// other half, one way.
double bisection_bytes_per_s(const NetworkGraph& network);

}  // namespace packsim
