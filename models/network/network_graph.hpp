#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "models/network_design.hpp"

namespace packsim {

/// A link between two vertices of a network in one direction. Links are in pairs: the one from the vertex
/// that repeats more often, and the one back.
struct NetworkLink {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t rule = 0;  ///< index of the design's rule
  /// Its number among the links that have a rate; kNoRate if it never slows anything down.
  std::uint32_t rated = 0;
  double bytes_per_s = 0;  ///< infinite without a rate
  double latency_s = 0;

  static constexpr std::uint32_t kNoRate = std::numeric_limits<std::uint32_t>::max();
};

/// The graph that a design gives for a number of nodes. Vertices are numbered group by group, and in a group
/// block by block. Switches that lead nowhere, such as the spine of a single leaf switch, have no links.
class NetworkGraph {
 public:
  NetworkGraph(NetworkDesign design, int n_nodes);

  const NetworkDesign& design() const { return design_; }
  int n_nodes() const { return n_nodes_; }
  std::uint32_t n_vertices() const { return first_of_group_.back(); }
  /// Links in the order of the design's rules; link 2i + 1 is link 2i in the other direction.
  const std::vector<NetworkLink>& links() const { return links_; }
  std::uint32_t n_rated_links() const { return n_rated_; }

  int n_blocks(std::size_t group) const;
  std::uint32_t vertex(std::size_t group, int block, int index) const;
  std::size_t group_of(std::uint32_t vertex) const;
  VertexKind kind_of(std::uint32_t vertex) const;
  /// The block of a vertex: its node, or the number of its group of nodes.
  int block_of(std::uint32_t vertex) const;
  int index_of(std::uint32_t vertex) const;
  /// Such as "node 3 gpu 5", "leaf 1.5" (number 5 of block 1) or "spine 0".
  std::string vertex_name(std::uint32_t vertex) const;
  /// Such as "node 3 gpu 5 to nvswitch" or "leaf 0.1 from spine", with the index of the other end if there
  /// are several. link: an element of links().
  std::string link_name(const NetworkLink& link) const;

 private:
  void add_links(std::uint32_t rule);
  void add_pair(std::uint32_t rule, std::uint32_t from, std::uint32_t to);
  void drop_dead_ends();
  void number_rated_links();

  NetworkDesign design_;
  int n_nodes_ = 0;
  std::vector<std::uint32_t> first_of_group_;  // and one past the last vertex
  std::vector<NetworkLink> links_;
  std::uint32_t n_rated_ = 0;
};

}  // namespace packsim
