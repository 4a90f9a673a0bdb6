#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/cluster.hpp"
#include "models/network/fabric_paths.hpp"
#include "models/network/network_graph.hpp"
#include "models/network/node_paths.hpp"
#include "sim/engine/flow_network.hpp"

namespace packsim {

/// The links with a rate from one GPU to another, in order. A route from a GPU to itself has no links.
class Route {
 public:
  static constexpr std::size_t kMostLinks = 32;

  const LinkId* begin() const { return links_.data(); }
  const LinkId* end() const { return links_.data() + n_links_; }
  bool empty() const { return n_links_ == 0; }
  void add(LinkId link) { links_.at(n_links_++) = link; }

 private:
  std::array<LinkId, kMostLinks> links_ = {};
  std::size_t n_links_ = 0;
};

/// The links of a cluster's network (network_of()), one for each direction, and the routes over them.
///
/// Inside a node, data takes the fastest path through NVSwitches, PCIe switches and the host. Between nodes
/// it takes the fewest links between switches on which it reaches one of the receiver's own NICs, those that
/// the receiver reaches fastest. If several NICs of the sender's node have paths as short, it leaves through
/// the one that the sender reaches fastest. On its way to that NIC it may pass through another GPU of the
/// sender's node; in a rail-optimised fabric it so stays on one rail after the NIC (NCCL's PXN: "Doubling
/// all2all Performance with NVIDIA Collective Communication Library 2.12", NVIDIA developer blog, 2022).
///
/// The receiver decides between equally good ways: its number in its node chooses the GPU that passes data
/// on, the number of its node chooses the ports of NICs, and links between switches are chosen as FabricPaths
/// says.
///
/// A cluster whose network is not stated (neither a design nor nvlink_bytes_per_s) has no links, and all its
/// routes are empty.
class Topology {
 public:
  /// Throws std::invalid_argument if neither of the numbers of NICs and GPUs of a node divides the other, for
  /// mistakes in a design, if a GPU has no path to another, for paths of over Route::kMostLinks links, and
  /// for rates that are not above 0.
  explicit Topology(const Cluster& cluster);

  int n_gpus() const { return n_nodes_ * gpus_per_node_; }
  int node_of(int gpu) const { return gpu / gpus_per_node_; }

  /// [n_links], for a FlowNetwork.
  const std::vector<double>& link_bytes_per_s() const { return link_bytes_per_s_; }
  /// The link's NetworkGraph::link_name().
  std::string link_name(LinkId link) const;
  /// Whether the link is at the GPU or at one of its own NICs, those that it reaches fastest.
  bool is_link_of(LinkId link, int gpu) const;
  /// Whether the link is between switches, so that it belongs to no GPU or NIC.
  bool is_shared(LinkId link) const { return owners_[link].node < 0; }

  /// The route between two GPUs, which are numbered across all nodes. Throws std::logic_error for a GPU that
  /// does not exist.
  Route route(int from_gpu, int to_gpu) const;

 private:
  // The node, GPUs or NIC that a link belongs to, because they are at its ends. -1: none.
  struct Owner {
    int node = -1;
    int gpu = -1;
    int other_gpu = -1;
    int nic = -1;
  };
  // The fastest way from a GPU to a NIC of its node.
  struct Exit {
    int nic = 0;
    PathCost cost = {};
    bool is_relayed = false;  // by another GPU
  };
  // Both ports of a route between nodes.
  struct Ports {
    const Exit* exit = nullptr;
    FabricPort out = {};
    int in_nic = 0;
    FabricPort in = {};
  };
  struct NicVertex {
    std::uint32_t first = 0;   // of node 0
    std::uint32_t stride = 0;  // from node to node
  };
  // What routes are made of; null if the network is not stated.
  struct Paths {
    explicit Paths(const NetworkDesign& design, int n_nodes)
        : graph(design, n_nodes), in_node(graph), fabric(graph) {}
    NetworkGraph graph;
    NodePaths in_node;
    FabricPaths fabric;
  };

  void find_nics();
  void find_owners();
  void find_exits();
  Exit exit_of(int gpu, int nic) const;
  void check_paths(const std::string& cluster) const;
  bool is_own_nic(int gpu_in_node, int nic) const;
  std::uint32_t nic_vertex(int node, int nic) const;

  Ports choose_ports(int from_gpu, int to_gpu) const;
  int relay_of(int from, const Exit& exit, int to) const;
  void add_in_node(Route& route, std::span<const std::uint32_t> links, int node, bool is_back = false) const;
  void add_link(Route& route, std::uint32_t link) const;
  bool add_fabric_route(Route& route, int from_gpu, int to_gpu) const;

  int n_nodes_ = 0;
  int gpus_per_node_ = 0;
  std::shared_ptr<const Paths> paths_;
  std::vector<double> link_bytes_per_s_;
  std::vector<std::uint32_t> link_places_;  // index in the graph of each rated link
  std::vector<std::uint32_t> strides_;      // number of rated links of a node, by rule
  std::vector<Owner> owners_;
  std::vector<NicVertex> nics_;
  std::vector<std::vector<int>> own_nics_;   // by GPU of a node: the NICs that it reaches fastest
  std::vector<std::vector<int>> near_gpus_;  // by NIC of a node: the GPUs that reach it fastest
  std::vector<std::vector<Exit>> exits_;     // by GPU of a node, fastest first
};

}  // namespace packsim
