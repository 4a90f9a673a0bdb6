#include "sim/network/topology.hpp"

#include <algorithm>
#include <stdexcept>

#include "models/network/cluster_network.hpp"

namespace packsim {
namespace {

[[noreturn]] void refuse(const Cluster& cluster, const std::string& why) {
  throw std::invalid_argument("cluster " + cluster.name + ": " + why);
}

void check_numbers(const Cluster& cluster) {
  const Network& network = cluster.network;
  if (cluster.nodes > 1 && network.nics_per_node == 0)
    refuse(cluster, std::to_string(cluster.nodes) + " nodes without NICs");
  const bool divides = network.nics_per_node == 0 || cluster.gpus_per_node % network.nics_per_node == 0 ||
                       network.nics_per_node % cluster.gpus_per_node == 0;
  if (!divides) {
    refuse(cluster, std::to_string(network.nics_per_node) + " NICs for " +
                        std::to_string(cluster.gpus_per_node) + " GPUs, expected a divisor or a multiple");
  }
  const bool has_rates = network.nvlink_bytes_per_s > 0 && network.oversubscription > 0 &&
                         (network.nics_per_node == 0 || network.nic_bytes_per_s > 0);
  if (!has_rates) refuse(cluster, "rates of its network not over 0");
}

void check_design(const Cluster& cluster) {
  std::string all;
  for (const DesignMistake& mistake : mistakes_of(*cluster.design, cluster.gpus_per_node)) {
    all += (all.empty() ? "" : "; ") + std::string(mistake.in_links ? "links " : "vertices ") +
           std::to_string(mistake.index) + " " + mistake.member + ": expected " + mistake.expected +
           ", got " + mistake.got;
  }
  if (!all.empty()) refuse(cluster, all);
}

}  // namespace

Topology::Topology(const Cluster& cluster) : n_nodes_(cluster.nodes), gpus_per_node_(cluster.gpus_per_node) {
  if (cluster.design) {
    check_design(cluster);
  } else if (cluster.network.nvlink_bytes_per_s == 0) {
    return;
  } else {
    check_numbers(cluster);
  }
  paths_ = std::make_shared<const Paths>(network_of(cluster), n_nodes_);
  const NetworkGraph& graph = paths_->graph;
  link_bytes_per_s_.resize(graph.n_rated_links());
  link_places_.resize(graph.n_rated_links());
  strides_.resize(graph.design().links.size());
  for (std::uint32_t i = 0; i < graph.links().size(); ++i) {
    const NetworkLink& link = graph.links()[i];
    if (link.rated == NetworkLink::kNoRate) continue;
    if (!(link.bytes_per_s > 0)) refuse(cluster, "rates of its network not over 0");
    link_bytes_per_s_[link.rated] = link.bytes_per_s;
    link_places_[link.rated] = i;
    if (graph.block_of(std::min(link.from, link.to)) == 0) ++strides_[link.rule];
  }
  find_nics();
  find_exits();
  find_owners();
  check_paths(cluster.name);
}

void Topology::find_nics() {
  const NetworkGraph& graph = paths_->graph;
  const NodePaths& in_node = paths_->in_node;
  const NetworkDesign& design = graph.design();
  for (std::size_t group = 0; group < design.vertices.size(); ++group) {
    const VertexGroup& vertices = design.vertices[group];
    if (vertices.kind != VertexKind::nic) continue;
    for (int i = 0; i < vertices.count; ++i)
      nics_.push_back({graph.vertex(group, 0, i), static_cast<std::uint32_t>(vertices.count)});
  }
  own_nics_.resize(static_cast<std::size_t>(gpus_per_node_));
  near_gpus_.resize(nics_.size());
  const int n_nics = in_node.n_nics();
  for (int gpu = 0; gpu < gpus_per_node_; ++gpu) {
    PathCost least;
    for (int nic = 0; nic < n_nics; ++nic) least = std::min(least, in_node.nic_cost(gpu, nic));
    for (int nic = 0; nic < n_nics && least.reachable(); ++nic) {
      if (in_node.nic_cost(gpu, nic) == least) own_nics_[static_cast<std::size_t>(gpu)].push_back(nic);
    }
  }
  for (int nic = 0; nic < n_nics; ++nic) {
    PathCost least;
    for (int gpu = 0; gpu < gpus_per_node_; ++gpu) least = std::min(least, in_node.nic_cost(gpu, nic));
    for (int gpu = 0; gpu < gpus_per_node_ && least.reachable(); ++gpu) {
      if (in_node.nic_cost(gpu, nic) == least) near_gpus_[static_cast<std::size_t>(nic)].push_back(gpu);
    }
  }
}

Topology::Exit Topology::exit_of(int gpu, int nic) const {
  const NodePaths& in_node = paths_->in_node;
  Exit exit{.nic = nic, .cost = in_node.nic_cost(gpu, nic)};
  for (const int relay : near_gpus_[static_cast<std::size_t>(nic)]) {
    if (relay == gpu) continue;
    const PathCost cost = in_node.gpu_cost(gpu, relay) + in_node.nic_cost(relay, nic);
    if (cost < exit.cost) exit = {nic, cost, true};
  }
  return exit;
}

void Topology::find_exits() {
  exits_.resize(static_cast<std::size_t>(gpus_per_node_));
  for (int gpu = 0; gpu < gpus_per_node_; ++gpu) {
    std::vector<Exit>& exits = exits_[static_cast<std::size_t>(gpu)];
    for (int nic = 0; nic < paths_->in_node.n_nics(); ++nic) {
      const Exit exit = exit_of(gpu, nic);
      if (exit.cost.reachable()) exits.push_back(exit);
    }
    std::ranges::stable_sort(exits, {}, &Exit::cost);
  }
}

void Topology::find_owners() {
  const NetworkGraph& graph = paths_->graph;
  owners_.resize(link_places_.size());
  for (std::size_t link = 0; link < owners_.size(); ++link) {
    const NetworkLink& network_link = graph.links()[link_places_[link]];
    Owner& owner = owners_[link];
    for (const std::uint32_t end : {network_link.from, network_link.to}) {
      const VertexKind kind = graph.kind_of(end);
      if (kind == VertexKind::gpu) (owner.gpu < 0 ? owner.gpu : owner.other_gpu) = graph.index_of(end);
      for (std::size_t nic = 0; kind == VertexKind::nic && nic < nics_.size(); ++nic) {
        const bool is_it = nics_[nic].first <= end && (end - nics_[nic].first) % nics_[nic].stride == 0 &&
                           graph.group_of(nics_[nic].first) == graph.group_of(end);
        if (is_it) owner.nic = static_cast<int>(nic);
      }
      if (kind == VertexKind::gpu || kind == VertexKind::nic) owner.node = graph.block_of(end);
    }
  }
}

// All nodes of a block are connected alike. So it is enough to check the routes from node 0 to itself, to
// node 1, and to the first node after its block of each size.
void Topology::check_paths(const std::string& cluster) const {
  const NodePaths& in_node = paths_->in_node;
  int longest_in_node = 0;
  for (int gpu = 0; gpu < gpus_per_node_; ++gpu) {
    for (int other = 0; other < gpus_per_node_; ++other) {
      const PathCost cost = in_node.gpu_cost(gpu, other);
      if (cost.reachable()) longest_in_node = std::max(longest_in_node, cost.n_links);
    }
    for (const Exit& exit : exits_[static_cast<std::size_t>(gpu)])
      longest_in_node = std::max(longest_in_node, exit.cost.n_links);
  }
  const int longest = 2 * longest_in_node + 2 + paths_->fabric.most_links();
  if (longest > static_cast<int>(Route::kMostLinks)) {
    throw std::invalid_argument("cluster " + cluster + ": paths of " + std::to_string(longest) +
                                " links, expected at most " + std::to_string(Route::kMostLinks));
  }
  std::vector<int> nodes{0, 1};
  for (const VertexGroup& group : paths_->graph.design().vertices) nodes.push_back(group.every_nodes);
  const auto refuse_pair = [&](int from, int to) {
    const auto name = [&](int gpu) {
      return "node " + std::to_string(node_of(gpu)) + " gpu " + std::to_string(gpu % gpus_per_node_);
    };
    throw std::invalid_argument("cluster " + cluster + ": no path from " + name(from) + " to " + name(to));
  };
  for (const int node : nodes) {
    if (node >= n_nodes_) continue;
    for (int from = 0; from < gpus_per_node_; ++from) {
      for (int in_its_node = 0; in_its_node < gpus_per_node_; ++in_its_node) {
        const int to = node * gpus_per_node_ + in_its_node;
        if (from == to || (node == 0 && in_node.gpu_cost(from, to).reachable())) continue;
        if (choose_ports(from, to).exit == nullptr) refuse_pair(from, to);
      }
    }
  }
}

std::string Topology::link_name(LinkId link) const {
  if (link >= link_bytes_per_s_.size()) throw std::logic_error("no link " + std::to_string(link));
  return paths_->graph.link_name(paths_->graph.links()[link_places_[link]]);
}

bool Topology::is_own_nic(int gpu_in_node, int nic) const {
  return std::ranges::find(own_nics_[static_cast<std::size_t>(gpu_in_node)], nic) !=
         own_nics_[static_cast<std::size_t>(gpu_in_node)].end();
}

bool Topology::is_link_of(LinkId link, int gpu) const {
  const Owner& owner = owners_[link];
  if (owner.node != node_of(gpu)) return false;
  const int in_node = gpu % gpus_per_node_;
  return owner.gpu == in_node || owner.other_gpu == in_node ||
         (owner.nic >= 0 && is_own_nic(in_node, owner.nic));
}

std::uint32_t Topology::nic_vertex(int node, int nic) const {
  const NicVertex& vertex = nics_[static_cast<std::size_t>(nic)];
  return vertex.first + static_cast<std::uint32_t>(node) * vertex.stride;
}

Topology::Ports Topology::choose_ports(int from_gpu, int to_gpu) const {
  const int from_node = node_of(from_gpu);
  const int to_node = node_of(to_gpu);
  const std::vector<Exit>& exits = exits_[static_cast<std::size_t>(from_gpu % gpus_per_node_)];
  // The best ports so far, of which the receiver's node chooses one. More than kMostTies are left out.
  constexpr std::size_t kMostTies = 16;
  std::array<Ports, kMostTies> best;
  std::size_t n_best = 0;
  int fewest = 0;
  const auto consider = [&](const Ports& ports) {
    const int n_links = paths_->fabric.n_links(ports.out.at, ports.in.at);
    if (n_links == FabricPaths::kNoPath) return;
    if (n_best > 0) {
      if (n_links > fewest) return;
      const bool is_tie = n_links == fewest && ports.exit->cost == best[0].exit->cost;
      if (n_links == fewest && best[0].exit->cost < ports.exit->cost) return;
      if (!is_tie) n_best = 0;
    }
    fewest = n_links;
    if (n_best < kMostTies) best[n_best++] = ports;
  };
  for (const int in_nic : own_nics_[static_cast<std::size_t>(to_gpu % gpus_per_node_)]) {
    for (const FabricPort& in : paths_->fabric.ports(nic_vertex(to_node, in_nic))) {
      for (const Exit& exit : exits) {
        if (n_best > 0 && fewest == 0 && best[0].exit->cost < exit.cost) break;
        for (const FabricPort& out : paths_->fabric.ports(nic_vertex(from_node, exit.nic)))
          consider({&exit, out, in_nic, in});
      }
    }
  }
  if (n_best == 0) return {};
  return best[static_cast<std::size_t>(to_node) % n_best];
}

int Topology::relay_of(int from, const Exit& exit, int to) const {
  const NodePaths& in_node = paths_->in_node;
  const std::vector<int>& near = near_gpus_[static_cast<std::size_t>(exit.nic)];
  const auto is_as_good = [&](int gpu) {
    return gpu != from && in_node.gpu_cost(from, gpu) + in_node.nic_cost(gpu, exit.nic) == exit.cost;
  };
  auto left = to % std::ranges::count_if(near, is_as_good);
  for (const int gpu : near) {
    if (is_as_good(gpu) && left-- == 0) return gpu;
  }
  return from;
}

void Topology::add_link(Route& route, std::uint32_t link) const {
  const std::uint32_t rated = paths_->graph.links()[link].rated;
  if (rated != NetworkLink::kNoRate) route.add(rated);
}

void Topology::add_in_node(Route& route, std::span<const std::uint32_t> links, int node, bool is_back) const {
  for (std::size_t i = 0; i < links.size(); ++i) {
    const std::uint32_t link = is_back ? links[links.size() - 1 - i] ^ 1U : links[i];
    const NetworkLink& network_link = paths_->graph.links()[link];
    if (network_link.rated != NetworkLink::kNoRate)
      route.add(network_link.rated + static_cast<std::uint32_t>(node) * strides_[network_link.rule]);
  }
}

bool Topology::add_fabric_route(Route& route, int from_gpu, int to_gpu) const {
  const Ports ports = choose_ports(from_gpu, to_gpu);
  if (ports.exit == nullptr) return false;
  const NodePaths& in_node = paths_->in_node;
  const int from = from_gpu % gpus_per_node_;
  const int to = to_gpu % gpus_per_node_;
  int sender = from;
  if (ports.exit->is_relayed) {
    sender = relay_of(from, *ports.exit, to);
    add_in_node(route, in_node.gpu_links(from, sender), node_of(from_gpu));
  }
  add_in_node(route, in_node.nic_links(sender, ports.exit->nic), node_of(from_gpu));
  add_link(route, ports.out.out);
  paths_->fabric.for_links(ports.out.at, ports.in.at, ports.in.rank,
                           [&](std::uint32_t link) { add_link(route, link); });
  add_link(route, ports.in.out ^ 1U);
  add_in_node(route, in_node.nic_links(to, ports.in_nic), node_of(to_gpu), true);
  return true;
}

Route Topology::route(int from_gpu, int to_gpu) const {
  for (const int gpu : {from_gpu, to_gpu}) {
    if (gpu < 0 || gpu >= n_gpus())
      throw std::logic_error("no GPU " + std::to_string(gpu) + " among " + std::to_string(n_gpus()));
  }
  Route route;
  if (from_gpu == to_gpu || !paths_) return route;
  const int from = from_gpu % gpus_per_node_;
  const int to = to_gpu % gpus_per_node_;
  if (node_of(from_gpu) == node_of(to_gpu) && paths_->in_node.gpu_cost(from, to).reachable()) {
    add_in_node(route, paths_->in_node.gpu_links(from, to), node_of(from_gpu));
  } else if (!add_fabric_route(route, from_gpu, to_gpu)) {
    throw std::logic_error("no path from GPU " + std::to_string(from_gpu) + " to " + std::to_string(to_gpu));
  }
  return route;
}

}  // namespace packsim
