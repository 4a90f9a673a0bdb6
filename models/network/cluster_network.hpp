#pragma once

#include "models/cluster.hpp"
#include "models/network_design.hpp"

namespace packsim {

/// The network of a cluster as a graph: the cluster's own design, or the graph that the numbers of its type
/// (Network) stand for. A number that is 0 is not known, so the graph lacks the links that it describes.
///
/// The graph of the numbers: every GPU of a node is on one NVSwitch and on a NIC. If a node has fewer NICs
/// than GPUs, consecutive GPUs share a NIC; if it has more, the NICs of a GPU are drawn as one with all their
/// rates. `nodes_per_leaf` nodes have one leaf switch for all NICs, or one for each NIC of a node (rails).
/// All leaf switches, or those of one rail, are on one spine, which stands for as many switches as needed.
NetworkDesign network_of(const Cluster& cluster);

}  // namespace packsim
