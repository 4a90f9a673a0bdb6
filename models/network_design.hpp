#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace packsim {

/// What a vertex of a network is.
enum class VertexKind {
  gpu,
  nvswitch,
  pcie,  ///< a PCIe switch, or the host that PCIe devices reach each other through
  nic,
  fabric_switch,
};

struct VertexKindRow {
  VertexKind kind;
  std::string_view name;  ///< as a network's file spells it
  bool in_node;           ///< whether every node has its own
  bool forwards;          ///< whether data passes through it from any link to any other
};

inline constexpr std::array<VertexKindRow, 5> kVertexKinds = {{
    {VertexKind::gpu, "gpu", true, false},
    {VertexKind::nvswitch, "nvswitch", true, true},
    {VertexKind::pcie, "pcie", true, true},
    {VertexKind::nic, "nic", true, false},
    {VertexKind::fabric_switch, "switch", false, true},
}};

/// The row of a kind.
const VertexKindRow& vertex_kind(VertexKind kind);

/// Vertices of one name: `count` in every block of `every_nodes` nodes, or `count` in the whole cluster.
struct VertexGroup {
  std::string name;
  VertexKind kind = VertexKind::fabric_switch;
  int count = 1;
  int every_nodes = 1;  ///< 0: once for the cluster
};

/// Which vertices of two groups a rule of links connects, in each block.
enum class Wiring {
  even,  ///< each vertex of the smaller group to its share of the larger: NIC i to leaf switch i
  all,   ///< each to every one of the other group; in one group, each to every other
};

/// Links between those vertices of two groups that are in the same block.
struct LinkRule {
  std::size_t from = 0;  ///< index of a group
  std::size_t to = 0;
  Wiring wiring = Wiring::even;
  int cables = 1;                          ///< between each two vertices; they count as one link
  std::optional<double> bytes_per_s = {};  ///< of one cable, one way; none: never slows anything down
  double latency_s = 0;                    ///< one way
};

/// The network of a cluster as a graph of repeated parts, for any number of nodes.
struct NetworkDesign {
  std::string name = {};
  std::string source = {};
  std::vector<VertexGroup> vertices = {};
  std::vector<LinkRule> links = {};

  /// Index of the group of GPUs, or of NICs; vertices.size() if there is none.
  std::size_t group_of(VertexKind kind) const;
  /// Whether the first group repeats more often than the second, or both equally often and it comes first.
  bool is_below(std::size_t group, std::size_t other) const;
};

/// The groups that a rule connects: `lower` repeats at least as often as `upper`. `links` are the pairs that
/// it links in each block, as indices of a vertex in its block of the lower and of the upper group.
struct WiredGroups {
  std::size_t lower = 0;
  std::size_t upper = 0;
  std::vector<std::pair<int, int>> links;
};
WiredGroups wired_groups(const NetworkDesign& design, const LinkRule& rule);

/// A mistake in a design: the group or rule by its index, its member (such as "count"), and what is wrong.
struct DesignMistake {
  bool in_links = false;  ///< whether it is in a rule of links, not in a group of vertices
  std::size_t index = 0;
  std::string member;
  std::string expected;
  std::string got;
};

/// Everything that is wrong with a design: groups with the same name, not exactly one group of gpus_per_node
/// GPUs, counts that even wiring cannot share, blocks that cross each other, two rules for the same groups,
/// and vertices without links.
std::vector<DesignMistake> mistakes_of(const NetworkDesign& design, int gpus_per_node);

}  // namespace packsim
