#pragma once

#include "models/cluster.hpp"
#include "models/network_design.hpp"

namespace packsim {

/// The network of a cluster as a graph: its own, or the one that its numbers stand for. Numbers that are 0
/// are not known, and their parts are missing; without NVLink's rate there is no network.
///
/// The numbers stand for this: every GPU of a node is on an NVSwitch and on a NIC. If a node has fewer NICs
/// than GPUs, consecutive GPUs share one; if it has more, the NICs of a GPU are the cables of one. A leaf
/// group has one leaf switch for all NICs, or one for each NIC of a node (rails). All leaf switches, or those
/// of one rail, are on one spine, which stands for as many switches as it takes.
NetworkDesign network_of(const Cluster& cluster);

}  // namespace packsim
