#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sim/engine/flow_network.hpp"
#include "sim/network/topology.hpp"

namespace packsim {

// The bytes that communication puts on the links of a cluster, by link, each named once. GPUs are counted
// through all nodes; a group names each of its GPUs once. A breach of that is a std::logic_error.

/// A copy from one GPU to another.
std::vector<LinkUse> transfer_links(const Topology& topology, int from_gpu, int to_gpu, double bytes);

/// Every GPU sends `bytes` to the next of the group and the last one to the first: a step of ring attention.
std::vector<LinkUse> ring_exchange_links(const Topology& topology, std::span<const int> gpus, double bytes);

/// A collective of n GPUs, of a payload as nccl-tests counts it (kernel_bytes()).
///
/// - all_to_all: every GPU sends every other one 1/n of its payload, directly.
/// - all_gather, reduce_scatter: (n-1)/n of the payload passes from each GPU of a ring to the next;
/// all_reduce:
///   twice that.
/// - send_recv: the first of two GPUs sends the payload to the second.
///
/// Rings are NCCL's: as many as a node has GPUs of the group, each with an equal part of the payload. Ring c
/// enters every node at the node's GPU c, goes through the others and leaves from the last one for GPU c of
/// the next node. So with k GPUs of the group on each of several nodes a ring enters and leaves a node once,
/// (n-1)/n of the payload leaves the node in all, and each of the GPUs' NICs carries 1/k of that; over NVLink
/// a GPU sends (n-1)/n of the payload in a rail-optimised fabric, where a ring that leaves hops to its rail
/// first, and (k-1)/k of that in others. Where nodes have different numbers of GPUs of the group there are as
/// many rings as the largest has, and others' GPUs serve as entries in turn. Trees and reduction inside
/// switches (NVLS, SHARP), which NCCL may choose for all_reduce, are not modelled.
///
/// Throws std::invalid_argument for an op that is none of these.
std::vector<LinkUse> collective_links(const Topology& topology, std::string_view op,
                                      std::span<const int> gpus, double payload_bytes);

/// What one GPU stands for when it represents a group whose GPUs all do the same: of the group's link uses
/// those of its own links and NIC, and those of the uplinks of leaf switches, which the group shares.
std::vector<LinkUse> representative_links(const Topology& topology, std::span<const LinkUse> uses, int gpu);

}  // namespace packsim
