#pragma once

#include <span>
#include <vector>

#include "models/kernels/collectives.hpp"
#include "sim/engine/flow_network.hpp"
#include "sim/network/topology.hpp"

namespace packsim::network_detail {

/// What the algorithm of a collective puts on the links of a cluster.
std::vector<LinkUse> algorithm_links(const Topology& topology, const CollectiveKind& kind,
                                     std::span<const int> gpus, double payload_bytes);

/// Adds the links between two GPUs.
void add_route(const Topology& topology, int from_gpu, int to_gpu, double bytes, std::vector<LinkUse>& uses);

/// The same uses by ascending link, each link once.
std::vector<LinkUse> merged(std::vector<LinkUse> uses);

}  // namespace packsim::network_detail
