#include "sim/network/topology.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <catch2/catch.hpp>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace packsim {
namespace {

using Names = std::vector<std::string>;

Cluster cluster(int nodes, int gpus, Network network) {
  network.nvlink_bytes_per_s = 450e9;
  network.nic_bytes_per_s = 50e9;
  return {.name = "test", .source = "", .gpu = {}, .nodes = nodes, .gpus_per_node = gpus, .network = network};
}

Names names(const Topology& topology, const Route& route) {
  Names all;
  for (const LinkId link : route) all.push_back(topology.link_name(link));
  return all;
}

std::map<std::string, double> rates(const Topology& topology) {
  std::map<std::string, double> all;
  const auto& bytes_per_s = topology.link_bytes_per_s();
  for (LinkId link = 0; link < bytes_per_s.size(); ++link) all[topology.link_name(link)] = bytes_per_s[link];
  return all;
}

// A cluster drawn as a graph, from its description alone. Every GPU sends from one vertex, receives at
// another and, in a rail-optimised fabric, passes on at a third. Rails have spines of their own.
class Drawing {
 public:
  explicit Drawing(const Cluster& cluster) : gpus_(cluster.gpus_per_node), rails_(cluster.network.rails) {
    const Network& network = cluster.network;
    const int nics = network.nics_per_node;
    for (int node = 0; node < cluster.nodes; ++node) {
      const std::string of_node = "node " + std::to_string(node);
      for (int gpu = 0; gpu < gpus_; ++gpu) add_gpu(node, gpu, gpu / (gpus_ / nics));
      for (int nic = 0; nic < nics; ++nic) {
        const std::string name = of_node + " nic " + std::to_string(nic);
        const int group = network.nodes_per_leaf == 0 ? 0 : node / network.nodes_per_leaf;
        const std::string rail = rails_ && nics > 1 ? "." + std::to_string(nic) : "";
        const std::string leaf = "leaf " + std::to_string(group) + rail;
        add(name + " sends", leaf, name + " to leaf", 10);
        add(leaf, name + " receives", name + " from leaf", 10);
        add(leaf, "spine" + rail, leaf + " to spine", 10);
        add("spine" + rail, leaf, leaf + " from spine", 10);
      }
    }
  }

  Names path(int from_gpu, int to_gpu) {
    const auto from = vertex(name(from_gpu) + " sends");
    std::vector<Graph::vertex_descriptor> before(num_vertices(graph_));
    boost::dijkstra_shortest_paths(
        graph_, from, boost::predecessor_map(before.data()).weight_map(get(&Edge::weight, graph_)));
    Names all;
    for (auto v = vertex(name(to_gpu) + " receives"); v != from; v = before[v]) {
      REQUIRE(before[v] != v);
      const Edge& edge = graph_[boost::edge(before[v], v, graph_).first];
      if (!edge.link.empty()) all.push_back(edge.link);
    }
    std::ranges::reverse(all);
    return all;
  }

 private:
  struct Edge {
    std::string link;  // no name: not a link
    int weight = 0;
  };
  using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Edge>;

  std::string name(int gpu) const {
    return "node " + std::to_string(gpu / gpus_) + " gpu " + std::to_string(gpu % gpus_);
  }
  void add_gpu(int node, int gpu, int nic) {
    const std::string nvswitch = "node " + std::to_string(node) + " switch";
    const std::string nic_name = "node " + std::to_string(node) + " nic " + std::to_string(nic);
    const std::string gpu_name = name(node * gpus_ + gpu);
    add(gpu_name + " sends", nvswitch, gpu_name + " to nvswitch", 1);
    add(nvswitch, gpu_name + " receives", gpu_name + " from nvswitch", 1);
    add(gpu_name + " sends", nic_name + " sends", "", 0);
    add(nic_name + " receives", gpu_name + " receives", "", 0);
    if (!rails_) return;
    add(nvswitch, gpu_name + " passes on", gpu_name + " from nvswitch", 1);
    add(gpu_name + " passes on", nic_name + " sends", "", 0);
  }
  Graph::vertex_descriptor vertex(const std::string& what) {
    const auto [place, is_new] = vertices_.try_emplace(what, num_vertices(graph_));
    if (is_new) add_vertex(graph_);
    return place->second;
  }
  void add(const std::string& from, const std::string& to, const std::string& link, int weight) {
    const auto u = vertex(from);
    const auto v = vertex(to);
    if (!boost::edge(u, v, graph_).second) add_edge(u, v, Edge{link, weight}, graph_);
  }

  int gpus_;
  bool rails_;
  Graph graph_;
  std::map<std::string, Graph::vertex_descriptor> vertices_;
};

// GPUs that share a NIC can all pass data on to it: which one does is told apart by nothing.
void forget_who_passes_on(Names& path) {
  if (path.size() > 2 && path[1].ends_with("from nvswitch")) path[1] = "from nvswitch";
}

}  // namespace

TEST_CASE("routes are the shortest paths through the cluster") {
  for (const bool rails : {false, true}) {
    for (const int nics : {1, 2, 4}) {
      for (const int nodes_per_leaf : {0, 1, 2, 3}) {
        const Cluster made =
            cluster(5, 4, {.nics_per_node = nics, .rails = rails, .nodes_per_leaf = nodes_per_leaf});
        const Topology topology(made);
        Drawing drawing(made);
        for (int from = 0; from < topology.n_gpus(); ++from) {
          for (int to = 0; to < topology.n_gpus(); ++to) {
            INFO(rails << " " << nics << " " << nodes_per_leaf << ": " << from << " to " << to);
            Names route = names(topology, topology.route(from, to));
            // The graph leads nowhere from a GPU to itself but over the switch and back.
            Names path = from == to ? Names{} : drawing.path(from, to);
            if (nics < 4) {
              forget_who_passes_on(route);
              forget_who_passes_on(path);
            }
            REQUIRE(route == path);
          }
        }
      }
    }
  }
}

TEST_CASE("data takes NVLink in a node, and NIC, leaf, spine, leaf, NIC between nodes") {
  const Topology topology(cluster(4, 2, {.nics_per_node = 2, .nodes_per_leaf = 2}));
  CHECK(names(topology, topology.route(3, 2)) ==
        Names{"node 1 gpu 1 to nvswitch", "node 1 gpu 0 from nvswitch"});
  CHECK(names(topology, topology.route(0, 3)) == Names{"node 0 nic 0 to leaf", "node 1 nic 1 from leaf"});
  CHECK(names(topology, topology.route(0, 7)) ==
        Names{"node 0 nic 0 to leaf", "leaf 0 to spine", "leaf 1 from spine", "node 3 nic 1 from leaf"});
  CHECK(topology.route(5, 5).empty());
}

TEST_CASE("in a rail-optimised fabric data changes rails over NVLink, and needs no spine in a leaf group") {
  const Topology topology(cluster(4, 2, {.nics_per_node = 2, .rails = true, .nodes_per_leaf = 2}));
  CHECK(names(topology, topology.route(0, 2)) == Names{"node 0 nic 0 to leaf", "node 1 nic 0 from leaf"});
  CHECK(names(topology, topology.route(0, 3)) == Names{"node 0 gpu 0 to nvswitch",
                                                       "node 0 gpu 1 from nvswitch", "node 0 nic 1 to leaf",
                                                       "node 1 nic 1 from leaf"});
  CHECK(names(topology, topology.route(0, 7)) ==
        Names{"node 0 gpu 0 to nvswitch", "node 0 gpu 1 from nvswitch", "node 0 nic 1 to leaf",
              "leaf 0.1 to spine", "leaf 1.1 from spine", "node 3 nic 1 from leaf"});
}

TEST_CASE("links have the rates of what they stand for") {
  // 2 nodes of 4 NICs of 50 GB/s: 400 GB/s on a leaf, 100 to the spine. The third node's leaf has the uplinks
  // of two nodes as well.
  const Topology shared(cluster(3, 4, {.nics_per_node = 4, .nodes_per_leaf = 2, .oversubscription = 4}));
  const auto shared_rates = rates(shared);
  CHECK(shared_rates.size() == 2 * (12 + 12 + 2));
  CHECK(shared_rates.at("node 2 gpu 3 from nvswitch") == 450e9);
  CHECK(shared_rates.at("node 0 nic 3 to leaf") == 50e9);
  CHECK(shared_rates.at("leaf 0 to spine") == 100e9);
  CHECK(shared_rates.at("leaf 1 from spine") == 100e9);

  // A rail's leaf has one NIC of each node.
  const Topology railed(
      cluster(4, 4, {.nics_per_node = 4, .rails = true, .nodes_per_leaf = 2, .oversubscription = 2}));
  const auto railed_rates = rates(railed);
  CHECK(railed_rates.size() == 2 * (16 + 16 + 8));
  CHECK(railed_rates.at("leaf 1.3 to spine") == 50e9);

  // One leaf group has no spine.
  CHECK(rates(Topology(cluster(3, 4, {.nics_per_node = 4}))).size() == 2 * (12 + 12));
}

TEST_CASE("GPUs share NICs where there are fewer, and have several as one where there are more") {
  const Topology fewer(cluster(2, 8, {.nics_per_node = 2}));
  CHECK(names(fewer, fewer.route(3, 12)) == Names{"node 0 nic 0 to leaf", "node 1 nic 1 from leaf"});
  CHECK(rates(fewer).at("node 1 nic 1 from leaf") == 50e9);
  const Topology more(cluster(2, 2, {.nics_per_node = 4}));
  CHECK(names(more, more.route(1, 2)) == Names{"node 0 nic 1 to leaf", "node 1 nic 0 from leaf"});
  CHECK(rates(more).at("node 0 nic 1 to leaf") == 100e9);
}

TEST_CASE("a link belongs to its GPU, to the GPUs of its NIC, or to all that go to the spine") {
  const Topology topology(cluster(2, 4, {.nics_per_node = 2, .nodes_per_leaf = 1}));
  for (LinkId link = 0; link < topology.link_bytes_per_s().size(); ++link) {
    const std::string name = topology.link_name(link);
    INFO(name);
    // GPU 6 is GPU 2 of node 1, and with GPU 3 on its NIC 1.
    CHECK(topology.is_link_of(link, 6) ==
          (name.starts_with("node 1 gpu 2 ") || name.starts_with("node 1 nic 1 ")));
    CHECK(topology.is_shared(link) == name.starts_with("leaf"));
  }
}

TEST_CASE("a cluster whose network is not stated has no links") {
  const Topology topology({.name = "", .source = "", .gpu = {}, .nodes = 3});
  CHECK(topology.n_gpus() == 24);
  CHECK(topology.link_bytes_per_s().empty());
  CHECK(topology.route(0, 23).empty());
}

TEST_CASE("10,000 GPUs have 40,640 links and 100,000,000 routes, none of which needs a table") {
  const Topology topology(
      cluster(1250, 8, {.nics_per_node = 8, .rails = true, .nodes_per_leaf = 32, .oversubscription = 2}));
  // 40 leaf groups (the last of 2 nodes) of 8 leaf switches.
  CHECK(topology.link_bytes_per_s().size() == 2 * (10'000 + 10'000 + 320));
  CHECK(names(topology, topology.route(1, 9'999)).back() == "node 1249 nic 7 from leaf");
  CHECK(topology.link_name(static_cast<LinkId>(topology.link_bytes_per_s().size() - 1)) ==
        "leaf 39.7 from spine");
}

TEST_CASE("networks that cannot be, and GPUs and links that are not, are refused") {
  CHECK_THROWS_AS(Topology(cluster(2, 8, {.nics_per_node = 0})), std::invalid_argument);
  CHECK_THROWS_AS(Topology(cluster(2, 8, {.nics_per_node = 3})), std::invalid_argument);
  CHECK_THROWS_AS(Topology(cluster(2, 8, {.nics_per_node = 12})), std::invalid_argument);
  CHECK_THROWS_AS(Topology(cluster(2, 8, {.nics_per_node = 8, .oversubscription = 0})),
                  std::invalid_argument);
  Cluster no_rate = cluster(2, 8, {.nics_per_node = 8});
  no_rate.network.nic_bytes_per_s = 0;
  CHECK_THROWS_AS(Topology(no_rate), std::invalid_argument);
  no_rate.network.nvlink_bytes_per_s = -1;
  CHECK_THROWS_AS(Topology(no_rate), std::invalid_argument);

  // One node needs no NICs.
  const Topology topology(cluster(1, 8, {.nics_per_node = 0}));
  CHECK(topology.link_bytes_per_s().size() == 16);
  CHECK_THROWS_AS(topology.route(0, 8), std::logic_error);
  CHECK_THROWS_AS(topology.route(-1, 0), std::logic_error);
  CHECK_THROWS_AS(topology.link_name(16), std::logic_error);
}

}  // namespace packsim
