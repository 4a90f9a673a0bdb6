#include <catch2/catch.hpp>
#include <random>

#include "models/network/cluster_network.hpp"
#include "models/network/flow_graph.hpp"
#include "models/network/network_rates.hpp"
#include "tests/models/network/network_examples.hpp"

namespace packsim {
namespace {

using namespace packsim_test;

// With every vertex and link of the network.
double plain_bisection(const NetworkDesign& design, int n_nodes) {
  const NetworkGraph network(design, n_nodes);
  const std::size_t source = network.n_vertices();
  FlowGraph graph(source + 2);
  for (const NetworkLink& link : network.links()) graph.add_link(link.from, link.to, link.bytes_per_s);
  const std::size_t gpus = design.group_of(VertexKind::gpu);
  const int in_node = design.vertices[gpus].count;
  for (int node = 0; node < n_nodes; ++node) {
    for (int gpu = 0; gpu < in_node; ++gpu) {
      const std::size_t vertex = network.vertex(gpus, node, gpu);
      const bool is_first_half = n_nodes == 1 ? 2 * gpu < in_node : 2 * node < n_nodes;
      graph.add_link(is_first_half ? source : vertex, is_first_half ? vertex : source + 1, kUnlimited);
    }
  }
  return graph.flow(source, source + 1);
}

double rate(std::mt19937& random) {
  return static_cast<double>(1 + random() % 100);
}

}  // namespace

TEST_CASE("the rate between halves is that of the whole network, for any number of nodes") {
  std::mt19937 random(5);
  for (int round = 0; round < 150; ++round) {
    NetworkDesign design = node_design(4, 2);
    const int leaf_nodes = 1 + static_cast<int>(random() % 3);
    const int pod_nodes = leaf_nodes * (1 + static_cast<int>(random() % 3));
    add_switches(design, "leaf", 1 + static_cast<int>(random() % 2), leaf_nodes, Wiring::all, rate(random));
    add_switches(design, "pod", 1 + static_cast<int>(random() % 2), pod_nodes, Wiring::all, rate(random));
    add_switches(design, "core", 1 + static_cast<int>(random() % 3), 0, Wiring::all, rate(random));
    for (const int n_nodes : {1, 2, 3, 4, 5, 7, 9, 12, 13, 18}) {
      INFO(leaf_nodes << " nodes a leaf, " << pod_nodes << " a pod, " << n_nodes << " nodes");
      CHECK(bisection_bytes_per_s(design, n_nodes) == Approx(plain_bisection(design, n_nodes)));
    }
  }
}

TEST_CASE("the rate between halves of the largest cluster is found at once") {
  // 67 108 864 GPUs. 32 768 nodes in each half, each with 2 NICs of 50 B/s, at an oversubscription of 2.
  const Cluster cluster{.name = "test",
                        .source = "",
                        .gpu = {},
                        .nodes = 65'536,
                        .gpus_per_node = 1024,
                        .network = {.nvlink_bytes_per_s = 450,
                                    .nics_per_node = 2,
                                    .nic_bytes_per_s = 50,
                                    .nodes_per_leaf = 4,
                                    .oversubscription = 2}};
  CHECK(bisection_bytes_per_s(network_of(cluster), cluster.nodes) == Approx(32'768.0 * 2 * 50 / 2));
}

}  // namespace packsim
