#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "sim/network/link_uses.hpp"

namespace packsim {
namespace {

using network_detail::add_route;
using network_detail::merged;

std::vector<LinkUse> direct_links(const Topology& topology, const CollectiveKind& kind,
                                  std::span<const int> gpus, double payload_bytes) {
  const double pair_bytes = kind.passes * payload_bytes / static_cast<double>(gpus.size());
  std::vector<LinkUse> uses;
  for (const int from : gpus) {
    for (const int to : gpus) add_route(topology, from, to, pair_bytes, uses);
  }
  return merged(std::move(uses));
}

// Groups GPUs by node. Nodes are in the order in which the group comes to them.
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

std::vector<LinkUse> pair_links(const Topology& topology, const CollectiveKind& kind,
                                std::span<const int> gpus, double payload_bytes) {
  if (gpus.size() != 2) {
    throw std::logic_error(std::string(kind.name) + " among " + std::to_string(gpus.size()) + " GPUs");
  }
  std::vector<LinkUse> uses;
  add_route(topology, gpus[0], gpus[1], payload_bytes, uses);
  return merged(std::move(uses));
}

struct AlgorithmRow {
  std::string_view name;
  std::vector<LinkUse> (*links)(const Topology& topology, const CollectiveKind& kind,
                                std::span<const int> gpus, double payload_bytes);
};

constexpr std::array<AlgorithmRow, 3> kAlgorithms = {{
    {kDirect.name, direct_links},
    {kRing.name, ring_links},
    {kPair.name, pair_links},
}};

}  // namespace

std::vector<LinkUse> network_detail::algorithm_links(const Topology& topology, const CollectiveKind& kind,
                                                     std::span<const int> gpus, double payload_bytes) {
  const auto* const row = std::ranges::find(kAlgorithms, kind.algorithm.name, &AlgorithmRow::name);
  if (row == kAlgorithms.end()) throw std::logic_error("no links are known of " + std::string(kind.name));
  return row->links(topology, kind, gpus, payload_bytes);
}

}  // namespace packsim
