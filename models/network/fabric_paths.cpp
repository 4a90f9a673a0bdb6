#include "models/network/fabric_paths.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/visitors.hpp>
#include <map>
#include <numeric>

namespace packsim {
namespace {

bool is_switch(const NetworkGraph& network, std::uint32_t vertex) {
  return network.kind_of(vertex) == VertexKind::fabric_switch;
}

// The first vertex that is a switch; n_vertices() if there is none.
std::uint32_t first_switch(const NetworkGraph& network) {
  std::uint32_t vertex = 0;
  while (vertex < network.n_vertices() && !is_switch(network, vertex)) ++vertex;
  return vertex;
}

}  // namespace

// A network's file may list groups in any order, so other vertices may have numbers between those of two
// switches or two NICs. They have places in the vectors too, but no links and no ports.
FabricPaths::FabricPaths(const NetworkGraph& network)
    : links_(&network.links()), first_vertex_(first_switch(network)) {
  twins_.resize(network.n_vertices() - first_vertex_);
  for (std::uint32_t i = 0; i < links_->size(); ++i) {
    const NetworkLink& link = (*links_)[i];
    if (is_switch(network, link.from) && is_switch(network, link.to)) fabric_links_.push_back(i);
  }
  add_links();
  add_ports(network);
  add_distances();
}

void FabricPaths::add_links() {
  const auto from = [&](std::uint32_t link) { return (*links_)[link].from; };
  std::ranges::stable_sort(fabric_links_, {}, from);
  first_link_.resize(twins_.size() + 1);
  for (const std::uint32_t link : fabric_links_) ++first_link_[from(link) - first_vertex_ + 1];
  std::partial_sum(first_link_.begin(), first_link_.end(), first_link_.begin());
}

std::span<const std::uint32_t> FabricPaths::links_of(std::uint32_t at) const {
  const std::uint32_t first = first_link_[at - first_vertex_];
  return {fabric_links_.data() + first, first_link_[at - first_vertex_ + 1] - first};
}

void FabricPaths::add_ports(const NetworkGraph& network) {
  struct NicPort {
    std::uint32_t nic = 0;
    FabricPort port;
  };
  std::vector<NicPort> all;
  for (std::uint32_t i = 0; i < links_->size(); ++i) {
    const NetworkLink& link = (*links_)[i];
    if (network.kind_of(link.from) == VertexKind::nic && is_switch(network, link.to))
      all.push_back({link.from, {link.to, i, 0}});
  }
  std::ranges::stable_sort(all, {}, &NicPort::nic);
  first_nic_ = all.empty() ? 0 : all.front().nic;
  std::map<std::uint32_t, std::uint32_t> n_ports;  // of each switch
  for (NicPort& port : all) {
    port.port.rank = n_ports[port.port.at]++;
    first_port_.resize(port.nic - first_nic_ + 1, static_cast<std::uint32_t>(ports_.size()));
    ports_.push_back(port.port);
  }
  first_port_.push_back(static_cast<std::uint32_t>(ports_.size()));
}

// Gives every switch the index of its set of twins, and returns the first switch of each set.
std::vector<std::uint32_t> FabricPaths::find_twins() {
  std::map<std::vector<std::uint32_t>, std::size_t> sets;
  std::vector<std::uint32_t> firsts;
  for (std::uint32_t i = 0; i < twins_.size(); ++i) {
    std::vector<std::uint32_t> neighbours;
    for (const std::uint32_t link : links_of(i + first_vertex_)) neighbours.push_back((*links_)[link].to);
    std::ranges::sort(neighbours);
    const auto [place, is_new] = sets.try_emplace(std::move(neighbours), firsts.size());
    if (is_new) firsts.push_back(i);
    twins_[i] = place->second;
  }
  return firsts;
}

void FabricPaths::add_distances() {
  boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS> switches(twins_.size());
  for (const std::uint32_t i : fabric_links_) {
    const NetworkLink& link = (*links_)[i];
    if (link.from < link.to) add_edge(link.from - first_vertex_, link.to - first_vertex_, switches);
  }
  const std::vector<std::uint32_t> firsts = find_twins();
  n_twins_ = firsts.size();
  std::vector<int> distance(twins_.size());
  for (const std::uint32_t from : firsts) {
    std::ranges::fill(distance, kNoPath);
    distance[from] = 0;
    boost::breadth_first_search(switches, from,
                                boost::visitor(boost::make_bfs_visitor(
                                    boost::record_distances(distance.data(), boost::on_tree_edge()))));
    for (const std::uint32_t to : firsts) {
      const int within_set = links_of(from + first_vertex_).empty() ? kNoPath : 2;
      distances_.push_back(from == to ? within_set : distance[to]);
    }
  }
}

std::span<const FabricPort> FabricPaths::ports(std::uint32_t nic) const {
  if (nic < first_nic_ || nic - first_nic_ + 1 >= first_port_.size()) return {};
  const std::uint32_t first = first_port_[nic - first_nic_];
  return {ports_.data() + first, first_port_[nic - first_nic_ + 1] - first};
}

int FabricPaths::most_links() const {
  return distances_.empty() ? 0 : *std::ranges::max_element(distances_);
}

std::uint32_t FabricPaths::next_link(std::uint32_t at, std::uint32_t to_switch, std::uint32_t& rank) const {
  const int left = n_links(at, to_switch);
  const auto is_next = [&](std::uint32_t link) { return n_links((*links_)[link].to, to_switch) == left - 1; };
  const std::span<const std::uint32_t> links = links_of(at);
  const auto n_ways = static_cast<std::uint32_t>(std::ranges::count_if(links, is_next));
  std::uint32_t way = rank % n_ways;
  rank /= n_ways;
  const auto next =
      std::ranges::find_if(links, [&](std::uint32_t link) { return is_next(link) && way-- == 0; });
  return *next;
}

}  // namespace packsim
