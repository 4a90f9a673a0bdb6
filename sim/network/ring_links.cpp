#include <algorithm>
#include <cstddef>

#include "sim/network/link_uses.hpp"

namespace packsim::network_detail {
namespace {

// The GPUs of each node. Nodes are in the order in which the group comes to them.
std::vector<std::vector<int>> by_node(const Topology& topology, std::span<const int> gpus) {
  std::vector<std::vector<int>> nodes;
  for (const int gpu : gpus) {
    const auto is_its = [&](const auto& node) {
      return topology.node_of(node.front()) == topology.node_of(gpu);
    };
    const auto node = std::ranges::find_if(nodes, is_its);
    if (node == nodes.end()) {
      nodes.push_back({gpu});
    } else {
      node->push_back(gpu);
    }
  }
  return nodes;
}

}  // namespace

// Rings are NCCL's: as many as a node has GPUs of the group, each with an equal part of the payload. Ring c
// enters every node at the node's GPU c, goes through the others and leaves from the last one for GPU c of
// the next node. With k GPUs of the group on each of several nodes, a ring therefore enters and leaves a node
// once, (n-1)/n of the payload leaves the node in all, and each of the GPUs' NICs carries 1/k of that. Over
// NVLink a GPU sends (n-1)/n of the payload in a rail-optimised fabric, where a ring that leaves hops to its
// rail first, and (k-1)/k of that in others. Where nodes have different numbers of GPUs of the group there
// are as many rings as the largest has, and the GPUs of the others serve as entries in turn.
//
// Trees and reduction inside switches (NVLS, SHARP), which NCCL may choose for all_reduce, are not modelled.
std::vector<LinkUse> ring_links(const Topology& topology, const CollectiveKind& kind,
                                std::span<const int> gpus, double payload_bytes) {
  const auto n_gpus = static_cast<double>(gpus.size());
  // What each GPU sends to the next, over all rings.
  const double bytes = kind.passes * payload_bytes * (n_gpus - 1) / n_gpus;
  const auto nodes = by_node(topology, gpus);
  std::size_t n_rings = 0;
  for (const auto& node : nodes) n_rings = std::max(n_rings, node.size());
  std::vector<LinkUse> uses;
  std::vector<int> ring;
  for (std::size_t c = 0; c < n_rings; ++c) {
    ring.clear();
    for (const auto& node : nodes) {
      for (std::size_t i = 0; i < node.size(); ++i) ring.push_back(node[(c + i) % node.size()]);
    }
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const int next = ring[(i + 1) % ring.size()];
      add_route(topology, ring[i], next, bytes / static_cast<double>(n_rings), uses);
    }
  }
  return merged(std::move(uses));
}

}  // namespace packsim::network_detail
