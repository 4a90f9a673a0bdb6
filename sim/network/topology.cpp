#include "sim/network/topology.hpp"

#include <algorithm>
#include <stdexcept>

namespace packsim {
namespace {

void check(const Cluster& cluster) {
  const Network& network = cluster.network;
  if (cluster.nodes > 1 && network.nics_per_node == 0) {
    throw std::invalid_argument("cluster " + cluster.name + ": " + std::to_string(cluster.nodes) +
                                " nodes without NICs");
  }
  const bool divides = network.nics_per_node == 0 || cluster.gpus_per_node % network.nics_per_node == 0 ||
                       network.nics_per_node % cluster.gpus_per_node == 0;
  if (!divides) {
    throw std::invalid_argument("cluster " + cluster.name + ": " + std::to_string(network.nics_per_node) +
                                " NICs for " + std::to_string(cluster.gpus_per_node) +
                                " GPUs, expected a divisor or a multiple");
  }
  const bool has_rates = network.nvlink_bytes_per_s > 0 && network.oversubscription > 0 &&
                         (network.nics_per_node == 0 || network.nic_bytes_per_s > 0);
  if (!has_rates)
    throw std::invalid_argument("cluster " + cluster.name + ": rates of its network not over 0");
}

}  // namespace

Topology::Topology(const Cluster& cluster)
    : n_nodes_(cluster.nodes), gpus_per_node_(cluster.gpus_per_node), rails_(cluster.network.rails) {
  const Network& network = cluster.network;
  if (network.nvlink_bytes_per_s == 0) return;
  check(cluster);
  ports_per_node_ = std::min(network.nics_per_node, gpus_per_node_);
  nodes_per_leaf_ = network.nodes_per_leaf == 0 ? n_nodes_ : network.nodes_per_leaf;

  const auto n_ports = static_cast<std::size_t>(n_nodes_ * ports_per_node_);
  const int n_groups = (n_nodes_ + nodes_per_leaf_ - 1) / nodes_per_leaf_;
  const int leaves_per_group = rails_ ? ports_per_node_ : 1;
  // One leaf group needs no spine.
  const std::size_t n_leaves = n_groups == 1 ? 0 : static_cast<std::size_t>(n_groups * leaves_per_group);
  const double node_bytes_per_s = network.nics_per_node * network.nic_bytes_per_s;
  const double leaf_bytes_per_s = nodes_per_leaf_ * node_bytes_per_s / leaves_per_group;

  const auto add_pairs = [&](std::size_t n, double bytes_per_s) {
    link_bytes_per_s_.insert(link_bytes_per_s_.end(), 2 * n, bytes_per_s);
    return static_cast<LinkId>(link_bytes_per_s_.size());
  };
  first_port_ = add_pairs(static_cast<std::size_t>(n_gpus()), network.nvlink_bytes_per_s);
  first_leaf_ = add_pairs(n_ports, node_bytes_per_s / std::max(ports_per_node_, 1));
  add_pairs(n_leaves, leaf_bytes_per_s / network.oversubscription);
}

std::string Topology::link_name(LinkId link) const {
  if (link >= link_bytes_per_s_.size()) throw std::logic_error("no link " + std::to_string(link));
  const bool is_out = link % 2 == static_cast<LinkId>(Direction::out);
  const auto within = [](LinkId index, int per_node, const std::string& what) {
    const auto n = static_cast<LinkId>(per_node);
    return "node " + std::to_string(index / n) + " " + what + " " + std::to_string(index % n);
  };
  if (link < first_port_)
    return within(link / 2, gpus_per_node_, "gpu") + " nvlink " + (is_out ? "out" : "in");
  if (link < first_leaf_) {
    return within((link - first_port_) / 2, ports_per_node_, "nic") + (is_out ? " out" : " in");
  }
  const LinkId leaf = (link - first_leaf_) / 2;
  const auto rails = static_cast<LinkId>(ports_per_node_);
  return "leaf " +
         (rails_ ? std::to_string(leaf / rails) + " rail " + std::to_string(leaf % rails)
                 : std::to_string(leaf)) +
         (is_out ? " up" : " down");
}

bool Topology::is_link_of(LinkId link, int gpu) const {
  if (link < first_port_) return link / 2 == static_cast<LinkId>(gpu);
  return link < first_leaf_ && (link - first_port_) / 2 == static_cast<LinkId>(port_of(gpu));
}

Route Topology::route(int from_gpu, int to_gpu) const {
  for (const int gpu : {from_gpu, to_gpu}) {
    if (gpu < 0 || gpu >= n_gpus()) {
      throw std::logic_error("no GPU " + std::to_string(gpu) + " among " + std::to_string(n_gpus()));
    }
  }
  Route route;
  if (from_gpu == to_gpu || link_bytes_per_s_.empty()) return route;
  const auto over_nvlink = [&](int from, int to) {
    route.add(link_of(0, from, Direction::out));
    route.add(link_of(0, to, Direction::in));
  };
  if (node_of(from_gpu) == node_of(to_gpu)) {
    over_nvlink(from_gpu, to_gpu);
    return route;
  }
  int sender = from_gpu;
  if (rails_ && port_of(from_gpu) % ports_per_node_ != port_of(to_gpu) % ports_per_node_) {
    sender = node_of(from_gpu) * gpus_per_node_ + to_gpu % gpus_per_node_;
    over_nvlink(from_gpu, sender);
  }
  const int out_port = port_of(sender);
  const int in_port = port_of(to_gpu);
  route.add(link_of(first_port_, out_port, Direction::out));
  if (leaf_of(out_port) != leaf_of(in_port)) {
    route.add(link_of(first_leaf_, leaf_of(out_port), Direction::out));
    route.add(link_of(first_leaf_, leaf_of(in_port), Direction::in));
  }
  route.add(link_of(first_port_, in_port, Direction::in));
  return route;
}

// Through all nodes, as ports and leaf switches are counted.
int Topology::port_of(int gpu) const {
  return node_of(gpu) * ports_per_node_ + gpu % gpus_per_node_ * ports_per_node_ / gpus_per_node_;
}

int Topology::leaf_of(int port) const {
  const int group = port / ports_per_node_ / nodes_per_leaf_;
  return rails_ ? group * ports_per_node_ + port % ports_per_node_ : group;
}

LinkId Topology::link_of(LinkId first, int index, Direction direction) {
  return first + 2 * static_cast<LinkId>(index) + static_cast<LinkId>(direction);
}

}  // namespace packsim
