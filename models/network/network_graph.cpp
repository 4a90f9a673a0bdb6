#include "models/network/network_graph.hpp"

#include <algorithm>
#include <utility>

namespace packsim {

NetworkGraph::NetworkGraph(NetworkDesign design, int n_nodes)
    : design_(std::move(design)), n_nodes_(n_nodes), first_of_group_{0} {
  for (std::size_t group = 0; group < design_.vertices.size(); ++group) {
    const int n = design_.vertices[group].count * n_blocks(group);
    first_of_group_.push_back(first_of_group_.back() + static_cast<std::uint32_t>(n));
  }
  for (std::uint32_t rule = 0; rule < design_.links.size(); ++rule) add_links(rule);
  drop_dead_ends();
  number_rated_links();
}

int NetworkGraph::n_blocks(std::size_t group) const {
  const int every = design_.vertices[group].every_nodes;
  return every == 0 ? 1 : (n_nodes_ + every - 1) / every;
}

std::uint32_t NetworkGraph::vertex(std::size_t group, int block, int index) const {
  return first_of_group_[group] + static_cast<std::uint32_t>(block * design_.vertices[group].count + index);
}

std::size_t NetworkGraph::group_of(std::uint32_t vertex) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(first_of_group_, vertex) -
                                  first_of_group_.begin()) -
         1;
}

VertexKind NetworkGraph::kind_of(std::uint32_t vertex) const {
  return design_.vertices[group_of(vertex)].kind;
}

int NetworkGraph::block_of(std::uint32_t vertex) const {
  const std::size_t group = group_of(vertex);
  return static_cast<int>(vertex - first_of_group_[group]) / design_.vertices[group].count;
}

int NetworkGraph::index_of(std::uint32_t vertex) const {
  const std::size_t group = group_of(vertex);
  return static_cast<int>(vertex - first_of_group_[group]) % design_.vertices[group].count;
}

std::string NetworkGraph::vertex_name(std::uint32_t vertex) const {
  const VertexGroup& group = design_.vertices[group_of(vertex)];
  const std::string index = std::to_string(index_of(vertex));
  const std::string block = std::to_string(block_of(vertex));
  if (vertex_kind(group.kind).in_node) {
    const bool is_one = group.count == 1 && group.kind != VertexKind::gpu && group.kind != VertexKind::nic;
    return "node " + block + " " + group.name + (is_one ? "" : " " + index);
  }
  if (group.every_nodes == 0) return group.name + " " + index;
  return group.name + " " + block + (group.count == 1 ? "" : "." + index);
}

std::string NetworkGraph::link_name(const NetworkLink& link) const {
  const bool is_out = (&link - links_.data()) % 2 == 0;
  const std::uint32_t lower = is_out ? link.from : link.to;
  const std::uint32_t upper = is_out ? link.to : link.from;
  const LinkRule& rule = design_.links[link.rule];
  const VertexGroup& group = design_.vertices[group_of(upper)];
  const int n_lower = design_.vertices[group_of(lower)].count;
  const bool is_one_of_several = rule.wiring == Wiring::all ? group.count > 1 : group.count > n_lower;
  return vertex_name(lower) + (is_out ? " to " : " from ") + group.name +
         (is_one_of_several ? " " + std::to_string(index_of(upper)) : "");
}

void NetworkGraph::add_links(std::uint32_t rule) {
  const WiredGroups wired = wired_groups(design_, design_.links[rule]);
  const int lower_nodes = design_.vertices[wired.lower].every_nodes;
  const int upper_nodes = design_.vertices[wired.upper].every_nodes;
  for (int block = 0; block < n_blocks(wired.lower); ++block) {
    const int upper_block = upper_nodes == 0 ? 0 : block * lower_nodes / upper_nodes;
    for (const auto& [i, j] : wired.links)
      add_pair(rule, vertex(wired.lower, block, i), vertex(wired.upper, upper_block, j));
  }
}

void NetworkGraph::add_pair(std::uint32_t rule_index, std::uint32_t from, std::uint32_t to) {
  const LinkRule& rule = design_.links[rule_index];
  NetworkLink link{.from = from,
                   .to = to,
                   .rule = rule_index,
                   .bytes_per_s = rule.bytes_per_s ? rule.cables * *rule.bytes_per_s
                                                   : std::numeric_limits<double>::infinity(),
                   .latency_s = rule.latency_s};
  links_.push_back(link);
  std::swap(link.from, link.to);
  links_.push_back(link);
}

void NetworkGraph::drop_dead_ends() {
  std::size_t before = 0;
  while (before != links_.size()) {
    before = links_.size();
    std::vector<int> degree(n_vertices());
    for (const NetworkLink& link : links_) ++degree[link.from];
    const auto is_dead_end = [&](std::uint32_t vertex) {
      return degree[vertex] < 2 && kind_of(vertex) == VertexKind::fabric_switch;
    };
    std::erase_if(links_,
                  [&](const NetworkLink& link) { return is_dead_end(link.from) || is_dead_end(link.to); });
  }
}

void NetworkGraph::number_rated_links() {
  for (NetworkLink& link : links_) {
    const bool has_rate = design_.links[link.rule].bytes_per_s.has_value();
    link.rated = has_rate ? n_rated_++ : NetworkLink::kNoRate;
  }
}

}  // namespace packsim
