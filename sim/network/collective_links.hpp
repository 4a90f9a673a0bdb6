#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sim/engine/flow_network.hpp"
#include "sim/network/topology.hpp"

namespace packsim {

// The bytes that communication puts on the links of a cluster, by ascending link, each link once. GPUs are
// numbered through all nodes, and a group that names a GPU twice is a std::logic_error.

/// The links of a copy from one GPU to another.
std::vector<LinkUse> transfer_links(const Topology& topology, int from_gpu, int to_gpu, double bytes);

/// Every GPU sends `bytes` to the next one of the group, and the last one to the first: one step of ring
/// attention.
std::vector<LinkUse> ring_exchange_links(const Topology& topology, std::span<const int> gpus, double bytes);

/// The links of a collective of the table in models/kernels/collectives.hpp. How its algorithm uses them is
/// said in collective_algorithms.cpp. The payload is counted as in nccl-tests (kernel_bytes()).
///
/// Throws std::invalid_argument for a name that is not in the table.
std::vector<LinkUse> collective_links(const Topology& topology, std::string_view op,
                                      std::span<const int> gpus, double payload_bytes);

/// The part of a group's link uses that counts where one of its GPUs is simulated for all, because all do the
/// same: uses of that GPU's own links and NIC, and of links between switches, which the group shares.
std::vector<LinkUse> representative_links(const Topology& topology, std::span<const LinkUse> uses, int gpu);

}  // namespace packsim
