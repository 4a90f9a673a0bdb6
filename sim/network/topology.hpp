#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "models/cluster.hpp"
#include "sim/engine/flow_network.hpp"

namespace packsim {

/// The links from one GPU to another, in order. A route from a GPU to itself has no links.
class Route {
 public:
  const LinkId* begin() const { return links_.data(); }
  const LinkId* end() const { return links_.data() + n_links_; }
  bool empty() const { return n_links_ == 0; }
  void add(LinkId link) { links_.at(n_links_++) = link; }

 private:
  std::array<LinkId, 6> links_ = {};
  std::size_t n_links_ = 0;
};

/// The links of a cluster, one for each direction, and the routes over them.
///
/// Inside a node every GPU has a link to and one from a switch, which all GPUs can use at full speed at the
/// same time. Between nodes, data goes through a NIC of the sender's node, a leaf switch, if needed the spine
/// and another leaf switch, and a NIC of the receiver's node. If a node has fewer NICs than GPUs, consecutive
/// GPUs share one; if it has more, the NICs of a GPU count as one. In a rail-optimised fabric the NICs with
/// the same index in all nodes of a leaf group have a leaf switch of their own; in other fabrics all NICs of
/// a leaf group share one. The uplinks of a leaf switch count as one link, as if traffic were spread evenly
/// over them, with the bandwidth for a full leaf group.
///
/// In a rail-optimised fabric, data for another rail first goes over NVLink to the GPU of the sender's node
/// that has the receiver's index, so that it stays on one rail after the NIC (NCCL's PXN: "Doubling all2all
/// Performance with NVIDIA Collective Communication Library 2.12", NVIDIA developer blog, 2022).
///
/// A cluster whose network is not stated (nvlink_bytes_per_s is 0) has no links, and all its routes are
/// empty.
class Topology {
 public:
  /// Throws std::invalid_argument if neither of the numbers of NICs and GPUs of a node divides the other, if
  /// nodes are not connected, and for rates that are not above 0.
  explicit Topology(const Cluster& cluster);

  int n_gpus() const { return n_nodes_ * gpus_per_node_; }
  int node_of(int gpu) const { return gpu / gpus_per_node_; }

  /// [n_links], for a FlowNetwork.
  const std::vector<double>& link_bytes_per_s() const { return link_bytes_per_s_; }
  /// Name of a link, such as "node 3 gpu 5 nvlink out", "node 3 nic 5 in", "leaf 0 rail 5 up" or "leaf 1
  /// down".
  std::string link_name(LinkId link) const;
  /// Whether the link is the GPU's own or that of its NIC.
  bool is_link_of(LinkId link, int gpu) const;
  /// Whether the link leads from a leaf switch to the spine or back.
  bool is_uplink(LinkId link) const { return link >= first_leaf_; }

  /// The route between two GPUs, which are numbered across all nodes. Throws std::logic_error for a GPU that
  /// does not exist.
  Route route(int from_gpu, int to_gpu) const;

 private:
  enum class Direction : LinkId { out = 0, in = 1 };  // up and down of leaf switches

  int port_of(int gpu) const;
  int leaf_of(int port) const;
  static LinkId link_of(LinkId first, int index, Direction direction);

  int n_nodes_ = 0;
  int gpus_per_node_ = 0;
  int ports_per_node_ = 0;  // NICs, where several NICs of one GPU count as one
  int nodes_per_leaf_ = 0;
  bool rails_ = false;
  // Links come in pairs, out and in: of GPUs, then of ports, then of leaf switches.
  LinkId first_port_ = 0;
  LinkId first_leaf_ = 0;
  std::vector<double> link_bytes_per_s_;
};

}  // namespace packsim
