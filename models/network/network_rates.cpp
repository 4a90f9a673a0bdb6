#include "models/network/network_rates.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <limits>
#include <set>

#include "models/network/cluster_network.hpp"
#include "models/network/flow_graph.hpp"
#include "models/network/node_paths.hpp"

namespace packsim {
namespace {

// The maximum flow out of a block of nodes. All nodes of a block are alike, and so are the smaller blocks in
// it. So vertices with the same group and index are merged into one, and their links into one that has all
// their capacity.
double flow_out_of(const NetworkDesign& design, int nodes) {
  std::vector<std::size_t> first{0};
  for (const VertexGroup& group : design.vertices)
    first.push_back(first.back() + static_cast<std::size_t>(group.count));
  const std::size_t source = first.back();
  const std::size_t sink = source + 1;
  FlowGraph graph(sink + 1);
  const auto is_inside = [&](std::size_t group) {
    const int every = design.vertices[group].every_nodes;
    return every != 0 && every <= nodes;
  };
  const auto place = [&](std::size_t group, int index) {
    return is_inside(group) ? first[group] + static_cast<std::size_t>(index) : sink;
  };
  for (const LinkRule& rule : design.links) {
    const WiredGroups wired = wired_groups(design, rule);
    if (!is_inside(wired.lower)) continue;
    const int copies = nodes / design.vertices[wired.lower].every_nodes;
    const double capacity = rule.bytes_per_s ? copies * rule.cables * *rule.bytes_per_s : kUnlimited;
    for (const auto& [i, j] : wired.links) {
      const std::size_t lower = place(wired.lower, i);
      const std::size_t upper = place(wired.upper, j);
      graph.add_link(lower, upper, capacity);
      if (upper != sink) graph.add_link(upper, lower, capacity);
    }
  }
  const std::size_t gpus = design.group_of(VertexKind::gpu);
  for (std::size_t gpu = first[gpus]; gpu < first[gpus + 1]; ++gpu) graph.add_link(source, gpu, kUnlimited);
  return graph.flow(source, sink);
}

// What a GPU can send to the others of its node. If it has none, the rate of its fastest link to anything but
// a NIC.
double rate_in_node(const NetworkGraph& network) {
  const NodePaths paths(network);
  if (paths.n_gpus() > 1) return paths.exchange_bytes_per_s(network);
  double fastest = 0;
  for (const NetworkLink& link : network.links()) {
    if (network.kind_of(link.from) == VertexKind::gpu && network.kind_of(link.to) != VertexKind::nic)
      fastest = std::max(fastest, link.bytes_per_s);
  }
  return fastest;
}

// The least latency from GPU 0 of a node to GPU 0 of another; 0 if there is no path.
double least_latency_s(const NetworkGraph& network) {
  boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property,
                        boost::property<boost::edge_weight_t, double>>
      graph(network.n_vertices());
  for (const NetworkLink& link : network.links()) add_edge(link.from, link.to, link.latency_s, graph);
  std::vector<double> latency_s(network.n_vertices());
  const std::size_t gpus = network.design().group_of(VertexKind::gpu);
  boost::dijkstra_shortest_paths(graph, network.vertex(gpus, 0, 0), boost::distance_map(latency_s.data()));
  const double least_s = latency_s[network.vertex(gpus, 1, 0)];
  return least_s < std::numeric_limits<double>::max() ? least_s : 0;
}

}  // namespace

NetworkRates network_rates(const Cluster& cluster) {
  const NetworkDesign design = network_of(cluster);
  const NetworkGraph two_nodes(design, 2);
  NetworkRates rates{
      .gpu_bytes_per_s = rate_in_node(two_nodes), .parts = {}, .latency_s = least_latency_s(two_nodes)};
  if (design.group_of(VertexKind::nic) == design.vertices.size()) return rates;
  std::set<int> blocks{1};
  for (const VertexGroup& group : design.vertices) {
    if (group.every_nodes != 0) blocks.insert(group.every_nodes);
  }
  for (const int nodes : blocks)
    rates.parts.push_back(
        {nodes, flow_out_of(design, nodes) / (static_cast<double>(nodes) * cluster.gpus_per_node)});
  return rates;
}

}  // namespace packsim
