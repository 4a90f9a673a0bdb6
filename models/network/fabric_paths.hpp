#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/network/network_graph.hpp"

namespace packsim {

/// The link of a NIC to a switch of the fabric.
struct FabricPort {
  std::uint32_t at = 0;    ///< the switch: a vertex of the network
  std::uint32_t out = 0;   ///< index of the link to it; the one back is out ^ 1
  std::uint32_t rank = 0;  ///< its number among the ports of NICs at that switch
};

/// The shortest paths between the switches of a network, in links.
///
/// If several next links are equally short, the receiver decides: the rank of its port modulo the number of
/// links chooses one, and the quotient chooses at the next switch, so that the receivers behind a switch are
/// spread evenly over the ways to it. This is D-mod-k, with which InfiniBand routes fat trees (Rodriguez et
/// al., "Oblivious routing schemes in extended generalized fat tree networks", IEEE CLUSTER 2009).
class FabricPaths {
 public:
  explicit FabricPaths(const NetworkGraph& network);

  /// The ports of a NIC, which is a vertex of the network.
  std::span<const FabricPort> ports(std::uint32_t nic) const;

  /// Links between two switches; kNoPath if there is no path.
  int n_links(std::uint32_t from_switch, std::uint32_t to_switch) const {
    if (from_switch == to_switch) return 0;
    return distances_[twins_[from_switch - first_vertex_] * n_twins_ + twins_[to_switch - first_vertex_]];
  }
  static constexpr int kNoPath = -1;

  /// The number of links between the two switches that are furthest apart.
  int most_links() const;

  /// Calls visit(index of the link) for each link of the path from one switch to another, in order. rank: the
  /// rank of the receiver's port.
  template <typename Visit>
  void for_links(std::uint32_t from_switch, std::uint32_t to_switch, std::uint32_t rank, Visit visit) const {
    while (from_switch != to_switch) {
      const std::uint32_t link = next_link(from_switch, to_switch, rank);
      visit(link);
      from_switch = (*links_)[link].to;
    }
  }

 private:
  void add_ports(const NetworkGraph& network);
  void add_links();
  std::vector<std::uint32_t> find_twins();
  void add_distances();
  std::span<const std::uint32_t> links_of(std::uint32_t at) const;
  // The link to take at a switch. Divides `rank` by the number of equally short ways.
  std::uint32_t next_link(std::uint32_t at, std::uint32_t to_switch, std::uint32_t& rank) const;

  const std::vector<NetworkLink>* links_;  // those of the network, which outlives this
  std::uint32_t first_vertex_ = 0;         // the first one that is a switch
  std::uint32_t first_nic_ = 0;
  std::vector<std::uint32_t> fabric_links_;  // between switches, by the switch that they leave
  std::vector<std::uint32_t> first_link_;    // by switch: index in fabric_links_; and the end
  // Switches with the same neighbours are twins, such as all leaf switches on the same spines. They have the
  // same distances to all other switches, so distances are kept for sets of twins.
  std::vector<std::size_t> twins_;  // by switch: the index of its set
  std::size_t n_twins_ = 0;         // number of sets
  std::vector<int> distances_;      // [set][set]; within a set, the distance between two of its switches
  std::vector<FabricPort> ports_;   // by NIC
  std::vector<std::uint32_t> first_port_;  // by NIC vertex from first_nic_ on: index in ports_; and the end
};

}  // namespace packsim
