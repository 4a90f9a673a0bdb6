#include "models/network/cluster_network.hpp"

#include <algorithm>

namespace packsim {
namespace {

// Groups in the order in which they are added; a rule's groups are named by position.
enum Group : std::size_t { kGpus, kNvswitches, kNics, kLeaves, kSpines };

void add_fabric(const Network& numbers, int ports, NetworkDesign& design) {
  const int leaves = numbers.rails ? ports : 1;
  const double node_bytes_per_s = numbers.nics_per_node * numbers.nic_bytes_per_s;
  design.vertices.push_back({"nic", VertexKind::nic, ports, 1});
  design.vertices.push_back({"leaf", VertexKind::fabric_switch, leaves, numbers.nodes_per_leaf});
  design.links.push_back({.from = kGpus, .to = kNics});
  design.links.push_back({.from = kNics,
                          .to = kLeaves,
                          .bytes_per_s = node_bytes_per_s / ports,
                          .latency_s = numbers.latency_s / 2});
  if (numbers.nodes_per_leaf == 0) return;
  const double leaf_bytes_per_s = numbers.nodes_per_leaf * node_bytes_per_s / leaves;
  design.vertices.push_back({"spine", VertexKind::fabric_switch, leaves, 0});
  design.links.push_back(
      {.from = kLeaves, .to = kSpines, .bytes_per_s = leaf_bytes_per_s / numbers.oversubscription});
}

}  // namespace

NetworkDesign network_of(const Cluster& cluster) {
  if (cluster.design) return *cluster.design;
  const Network& numbers = cluster.network;
  NetworkDesign design{.name = cluster.name, .source = numbers.source};
  design.vertices = {{"gpu", VertexKind::gpu, cluster.gpus_per_node, 1},
                     {"nvswitch", VertexKind::nvswitch, 1, 1}};
  if (numbers.nvlink_bytes_per_s > 0)
    design.links.push_back({.from = kGpus, .to = kNvswitches, .bytes_per_s = numbers.nvlink_bytes_per_s});
  const bool has_nics = numbers.nics_per_node > 0 && numbers.nic_bytes_per_s > 0;
  if (has_nics) add_fabric(numbers, std::min(numbers.nics_per_node, cluster.gpus_per_node), design);
  return design;
}

}  // namespace packsim
