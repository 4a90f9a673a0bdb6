#include "sim/network/collective_links.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <stdexcept>
#include <string>

namespace packsim {
namespace {

void add_route(const Topology& topology, int from, int to, double bytes, std::vector<LinkUse>& uses) {
  for (const LinkId link : topology.route(from, to)) uses.push_back({link, bytes});
}

// By link, each once.
std::vector<LinkUse> merged(std::vector<LinkUse> uses) {
  std::ranges::stable_sort(uses, {}, &LinkUse::link);
  std::size_t n = 0;
  for (const LinkUse& use : uses) {
    if (n > 0 && uses[n - 1].link == use.link) {
      uses[n - 1].bytes += use.bytes;
    } else {
      uses[n++] = use;
    }
  }
  uses.resize(n);
  return uses;
}

void check_group(std::span<const int> gpus) {
  if (std::set<int>(gpus.begin(), gpus.end()).size() != gpus.size()) {
    throw std::logic_error("a group of " + std::to_string(gpus.size()) + " GPUs names one twice");
  }
}

std::vector<LinkUse> all_to_all_links(const Topology& topology, std::span<const int> gpus,
                                      double payload_bytes) {
  const double pair_bytes = payload_bytes / static_cast<double>(gpus.size());
  std::vector<LinkUse> uses;
  for (const int from : gpus) {
    for (const int to : gpus) add_route(topology, from, to, pair_bytes, uses);
  }
  return merged(std::move(uses));
}

// The GPUs of each node, nodes as the group names them first.
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

// bytes: from each GPU to the next, over all rings.
std::vector<LinkUse> ring_links(const Topology& topology, std::span<const int> gpus, double bytes) {
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

}  // namespace

std::vector<LinkUse> transfer_links(const Topology& topology, int from_gpu, int to_gpu, double bytes) {
  std::vector<LinkUse> uses;
  add_route(topology, from_gpu, to_gpu, bytes, uses);
  return merged(std::move(uses));
}

std::vector<LinkUse> ring_exchange_links(const Topology& topology, std::span<const int> gpus, double bytes) {
  check_group(gpus);
  std::vector<LinkUse> uses;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    add_route(topology, gpus[i], gpus[(i + 1) % gpus.size()], bytes, uses);
  }
  return merged(std::move(uses));
}

std::vector<LinkUse> collective_links(const Topology& topology, std::string_view op,
                                      std::span<const int> gpus, double payload_bytes) {
  check_group(gpus);
  const auto n = static_cast<double>(gpus.size());
  if (op == "all_to_all") return all_to_all_links(topology, gpus, payload_bytes);
  if (op == "all_gather" || op == "reduce_scatter")
    return ring_links(topology, gpus, payload_bytes * (n - 1) / n);
  // A reduce-scatter, and an all-gather of its results.
  if (op == "all_reduce") return ring_links(topology, gpus, 2 * payload_bytes * (n - 1) / n);
  if (op != "send_recv") {
    throw std::invalid_argument("collective " + std::string(op) +
                                ", expected all_to_all, all_gather, reduce_scatter, all_reduce or send_recv");
  }
  if (gpus.size() != 2) throw std::logic_error("send_recv among " + std::to_string(gpus.size()) + " GPUs");
  return transfer_links(topology, gpus[0], gpus[1], payload_bytes);
}

std::vector<LinkUse> representative_links(const Topology& topology, std::span<const LinkUse> uses, int gpu) {
  std::vector<LinkUse> kept;
  for (const LinkUse& use : uses) {
    if (topology.is_link_of(use.link, gpu) || topology.is_uplink(use.link)) kept.push_back(use);
  }
  return kept;
}

}  // namespace packsim
