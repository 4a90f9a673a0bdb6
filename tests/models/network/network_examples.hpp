#pragma once

#include <vector>

#include "models/cluster.hpp"

namespace packsim_test {

/// Nodes of GPUs on an NVSwitch at 400 bytes a second, with as many NICs at 50, and a fabric.
inline packsim::NetworkDesign node_design(int gpus, int nics, packsim::LinkRule to_nic = {}) {
  using packsim::VertexKind;
  to_nic.from = 0;
  to_nic.to = 2;
  return {.name = "test",
          .source = "",
          .vertices = {{"gpu", VertexKind::gpu, gpus, 1},
                       {"nvswitch", VertexKind::nvswitch, 1, 1},
                       {"nic", VertexKind::nic, nics, 1}},
          .links = {{.from = 0, .to = 1, .bytes_per_s = 400}, to_nic}};
}

/// Adds switches, linked to the group that was last.
inline void add_switches(packsim::NetworkDesign& design, const char* name, int count, int every_nodes,
                         packsim::Wiring wiring, double bytes_per_s) {
  const std::size_t below = design.vertices.size() - 1;
  design.vertices.push_back({name, packsim::VertexKind::fabric_switch, count, every_nodes});
  design.links.push_back({.from = below, .to = below + 1, .wiring = wiring, .bytes_per_s = bytes_per_s});
}

/// All NICs of `nodes_per_leaf` nodes on a leaf switch, and each leaf switch on every spine switch.
inline packsim::NetworkDesign fat_tree(int gpus, int nodes_per_leaf, int spines, double uplink_bytes_per_s) {
  packsim::NetworkDesign design = node_design(gpus, gpus);
  add_switches(design, "leaf", 1, nodes_per_leaf, packsim::Wiring::even, 50);
  add_switches(design, "spine", spines, 0, packsim::Wiring::all, uplink_bytes_per_s);
  return design;
}

inline packsim::Cluster cluster_of(packsim::NetworkDesign design, int nodes) {
  const int gpus = design.vertices[0].count;
  return {.name = "test",
          .source = "",
          .gpu = {},
          .nodes = nodes,
          .gpus_per_node = gpus,
          .design = std::move(design)};
}

}  // namespace packsim_test
