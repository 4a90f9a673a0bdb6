#include "models/network/node_paths.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <map>

namespace packsim {

PathCost operator+(const PathCost& one, const PathCost& other) {
  if (!one.reachable() || !other.reachable()) return {};
  return {one.s_per_byte + other.s_per_byte, one.n_links + other.n_links};
}

namespace {

struct NodeEdge {
  PathCost cost = {};
  std::uint32_t link = 0;
};
using NodeGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, VertexKind, NodeEdge>;
using NodeVertex = NodeGraph::vertex_descriptor;

// Keeps the links that leave the start of a path, or a vertex that data passes through.
struct Passable {
  const NodeGraph* graph = nullptr;
  NodeVertex start = 0;
  bool operator()(const NodeGraph::edge_descriptor& edge) const {
    const NodeVertex from = source(edge, *graph);
    return from == start || vertex_kind((*graph)[from]).forwards;
  }
};

// The vertices and links of node 0 of a network.
struct NodeSubgraph {
  NodeGraph graph;
  std::map<std::uint32_t, NodeVertex> vertices;  // of the subgraph, by vertex of the network

  explicit NodeSubgraph(const NetworkGraph& network) {
    const auto is_in = [&](std::uint32_t vertex) {
      return vertex_kind(network.kind_of(vertex)).in_node && network.block_of(vertex) == 0;
    };
    for (std::uint32_t i = 0; i < network.links().size(); ++i) {
      const NetworkLink& link = network.links()[i];
      if (!is_in(link.from) || !is_in(link.to)) continue;
      const PathCost cost{1 / link.bytes_per_s, 1};
      add_edge(add(network, link.from), add(network, link.to), NodeEdge{cost, i}, graph);
    }
  }

  NodeVertex add(const NetworkGraph& network, std::uint32_t vertex) {
    const auto [place, is_new] = vertices.try_emplace(vertex, num_vertices(graph));
    if (is_new) add_vertex(network.kind_of(vertex), graph);
    return place->second;
  }
};

// Remembers the edge by which each vertex is reached.
class EdgeRecorder : public boost::dijkstra_visitor<> {
 public:
  explicit EdgeRecorder(std::vector<NodeGraph::edge_descriptor>& edges) : edges_(&edges) {}
  template <typename Graph>
  void edge_relaxed(const NodeGraph::edge_descriptor& edge, const Graph& graph) {
    (*edges_)[target(edge, graph)] = edge;
  }

 private:
  std::vector<NodeGraph::edge_descriptor>* edges_;
};

}  // namespace

NodePaths::NodePaths(const NetworkGraph& network) {
  const NetworkDesign& design = network.design();
  const std::size_t gpus = design.group_of(VertexKind::gpu);
  n_gpus_ = design.vertices[gpus].count;
  std::vector<std::uint32_t> ends;
  for (std::size_t group = 0; group < design.vertices.size(); ++group) {
    const VertexGroup& vertices = design.vertices[group];
    if (vertices.kind != VertexKind::nic) continue;
    for (int i = 0; i < vertices.count; ++i) ends.push_back(network.vertex(group, 0, i));
  }
  n_nics_ = static_cast<int>(ends.size());
  for (int i = n_gpus_; i-- > 0;) ends.insert(ends.begin(), network.vertex(gpus, 0, i));

  const NodeSubgraph subgraph(network);
  const NodeGraph& graph = subgraph.graph;
  paths_.resize(static_cast<std::size_t>(n_gpus_) * ends.size());
  std::vector<PathCost> costs(num_vertices(graph));
  std::vector<NodeGraph::edge_descriptor> edges(num_vertices(graph));
  for (int gpu = 0; gpu < n_gpus_; ++gpu) {
    const auto start = subgraph.vertices.find(ends[static_cast<std::size_t>(gpu)]);
    if (start == subgraph.vertices.end()) continue;
    const boost::filtered_graph<NodeGraph, Passable> passable(graph, {&graph, start->second});
    boost::dijkstra_shortest_paths(passable, start->second,
                                   boost::distance_map(costs.data())
                                       .weight_map(get(&NodeEdge::cost, graph))
                                       .distance_compare(std::less<>())
                                       .distance_combine(std::plus<>())
                                       .distance_inf(PathCost{})
                                       .distance_zero(PathCost{0, 0})
                                       .visitor(EdgeRecorder(edges)));
    for (int end = 0; end < n_gpus_ + n_nics_; ++end) {
      const auto to = subgraph.vertices.find(ends[static_cast<std::size_t>(end)]);
      if (end == gpu || to == subgraph.vertices.end() || !costs[to->second].reachable()) continue;
      Path& path = paths_[place(gpu, end)];
      path.cost = costs[to->second];
      path.first = static_cast<std::uint32_t>(links_.size());
      path.n = static_cast<std::uint32_t>(path.cost.n_links);
      for (NodeVertex at = to->second; at != start->second; at = source(edges[at], graph))
        links_.push_back(graph[edges[at]].link);
      std::reverse(links_.begin() + path.first, links_.end());
    }
  }
}

std::span<const std::uint32_t> NodePaths::links_of(const Path& path) const {
  return {links_.data() + path.first, path.n};
}

std::span<const std::uint32_t> NodePaths::gpu_links(int from_gpu, int to_gpu) const {
  return links_of(paths_[place(from_gpu, to_gpu)]);
}

std::span<const std::uint32_t> NodePaths::nic_links(int gpu, int nic) const {
  return links_of(paths_[place(gpu, n_gpus_ + nic)]);
}

double NodePaths::exchange_bytes_per_s(const NetworkGraph& graph) const {
  std::map<std::uint32_t, int> loads;  // of each link: how many pairs of sender and receiver use it
  for (int from = 0; from < n_gpus_; ++from) {
    for (int to = 0; to < n_gpus_; ++to) {
      if (from == to) continue;
      if (!gpu_cost(from, to).reachable()) return 0;
      for (const std::uint32_t link : gpu_links(from, to)) ++loads[link];
    }
  }
  double slowest = std::numeric_limits<double>::infinity();
  for (const auto& [link, load] : loads)
    slowest = std::min(slowest, (n_gpus_ - 1) * graph.links()[link].bytes_per_s / load);
  return slowest;
}

}  // namespace packsim
