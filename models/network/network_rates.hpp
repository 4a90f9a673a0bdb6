#pragma once

#include <vector>

#include "models/cluster.hpp"
#include "models/network/network_graph.hpp"

namespace packsim {

/// The rate at which all GPUs of a part of a cluster together can send out of it, one way.
struct PartRate {
  int nodes = 1;               ///< number of nodes of the part
  double gpu_bytes_per_s = 0;  ///< the rate out of the part, divided by the number of its GPUs
};

/// What a network can carry, for prices. A rate of 0 is not known.
struct NetworkRates {
  /// What a GPU can send to the others of its node while all of them send equally much to each other.
  double gpu_bytes_per_s = 0;
  /// Rates out of a node and out of each block of nodes that share switches, smallest first. Empty without
  /// NICs.
  std::vector<PartRate> parts;
  double latency_s = 0;  ///< least latency between two nodes, one way

  double nic_bytes_per_s() const { return parts.empty() ? 0 : parts.front().gpu_bytes_per_s; }
};

/// The rates of a cluster's network, which do not depend on its number of nodes. The rate out of a part is
/// the maximum flow from its GPUs to the switches that it shares with other parts.
NetworkRates network_rates(const Cluster& cluster);

/// The maximum flow from the GPUs of the first half of the nodes to those of the other half, one way. In a
/// network of one node, from the first half of its GPUs to the others.
double bisection_bytes_per_s(const NetworkDesign& design, int n_nodes);

}  // namespace packsim
