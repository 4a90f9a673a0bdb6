#include <algorithm>
#include <compare>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "models/network/flow_graph.hpp"
#include "models/network/network_rates.hpp"

namespace packsim {
namespace {

// Where a block of nodes lies: in which half of the cluster, and whether it is the last of its size and has
// fewer nodes than the others.
struct BlockPlace {
  enum class Half { first, second, both };
  Half half = Half::both;
  bool is_cut_off = false;

  auto operator<=>(const BlockPlace&) const = default;
};

// The places of a block and of all larger blocks around it, smallest first.
using Places = std::vector<BlockPlace>;

// Blocks of one group with the same places. Any two of them can change places, with all that is in them and
// around them, and neither the network nor its halves are different. So some maximum flow is equal on all of
// them, and they may be merged into one block with all their capacity.
struct MergedBlocks {
  std::size_t first_vertex = 0;
  int n_blocks = 0;
};

class MergedNetwork {
 public:
  MergedNetwork(const NetworkDesign& design, int n_nodes) : design_(design), n_nodes_(n_nodes) {
    for (const VertexGroup& group : design.vertices) sizes_.insert(nodes_of_block(group));
    for (std::size_t group = 0; group < design.vertices.size(); ++group) add_blocks(group);
  }

  double bisection_bytes_per_s() const {
    FlowGraph graph(n_vertices_ + 2);
    for (const LinkRule& rule : design_.links) add_links(rule, graph);
    const std::size_t gpus = design_.group_of(VertexKind::gpu);
    const int in_node = design_.vertices[gpus].count;
    for (const auto& [key, blocks] : blocks_) {
      if (key.first != gpus) continue;
      for (int gpu = 0; gpu < in_node; ++gpu) {
        const std::size_t vertex = blocks.first_vertex + static_cast<std::size_t>(gpu);
        const bool is_first_half =
            n_nodes_ == 1 ? 2 * gpu < in_node : key.second.front().half == BlockPlace::Half::first;
        if (is_first_half) {
          graph.add_link(n_vertices_, vertex, kUnlimited);
        } else {
          graph.add_link(vertex, n_vertices_ + 1, kUnlimited);
        }
      }
    }
    return graph.flow(n_vertices_, n_vertices_ + 1);
  }

 private:
  // A group that the cluster has once has one block, larger than all others.
  static int nodes_of_block(const VertexGroup& group) {
    return group.every_nodes == 0 ? std::numeric_limits<int>::max() : group.every_nodes;
  }

  BlockPlace place(int first_node, int size) const {
    const int n_in_first_half = (n_nodes_ + 1) / 2;
    BlockPlace place{.is_cut_off = size > n_nodes_ - first_node};
    if (first_node >= n_in_first_half) place.half = BlockPlace::Half::second;
    if (size <= n_in_first_half - first_node) place.half = BlockPlace::Half::first;
    return place;
  }

  void add_blocks(std::size_t group) {
    const int own_size = nodes_of_block(design_.vertices[group]);
    for (int node = 0; node < n_nodes_; node += std::min(own_size, n_nodes_ - node)) {
      Places places;
      for (auto size = sizes_.find(own_size); size != sizes_.end(); ++size)
        places.push_back(place(node - node % *size, *size));
      const auto [merged, is_new] = blocks_.try_emplace({group, std::move(places)});
      ++merged->second.n_blocks;
      if (!is_new) continue;
      merged->second.first_vertex = n_vertices_;
      n_vertices_ += static_cast<std::size_t>(design_.vertices[group].count);
    }
  }

  void add_links(const LinkRule& rule, FlowGraph& graph) const {
    const WiredGroups wired = wired_groups(design_, rule);
    const auto n_around =
        std::distance(sizes_.find(nodes_of_block(design_.vertices[wired.upper])), sizes_.end());
    for (const auto& [key, lower] : blocks_) {
      if (key.first != wired.lower) continue;
      const Places around(key.second.end() - n_around, key.second.end());
      const MergedBlocks& upper = blocks_.at({wired.upper, around});
      const double capacity =
          rule.bytes_per_s ? lower.n_blocks * (rule.cables * *rule.bytes_per_s) : kUnlimited;
      for (const auto& [i, j] : wired.links) {
        const std::size_t from = lower.first_vertex + static_cast<std::size_t>(i);
        const std::size_t to = upper.first_vertex + static_cast<std::size_t>(j);
        graph.add_link(from, to, capacity);
        graph.add_link(to, from, capacity);
      }
    }
  }

  const NetworkDesign& design_;
  int n_nodes_ = 0;
  std::set<int> sizes_;  // of blocks, in nodes; each but the largest divides those after it (mistakes_of())
  std::map<std::pair<std::size_t, Places>, MergedBlocks> blocks_;  // by group and places
  std::size_t n_vertices_ = 0;
};

}  // namespace

double bisection_bytes_per_s(const NetworkDesign& design, int n_nodes) {
  return MergedNetwork(design, n_nodes).bisection_bytes_per_s();
}

}  // namespace packsim
