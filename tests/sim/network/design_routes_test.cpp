#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/network/cluster_network.hpp"
#include "sim/network/collective_links.hpp"
#include "sim/network/topology.hpp"
#include "tests/models/network/network_examples.hpp"

namespace packsim {
namespace {

using namespace packsim_test;

std::vector<std::string> link_names(const Topology& topology, int from, int to) {
  std::vector<std::string> all;
  for (const LinkId link : topology.route(from, to)) all.push_back(topology.link_name(link));
  return all;
}

// All shortest distances of a graph, one path longer at a time (Floyd and Warshall).
class Distances {
 public:
  Distances(const NetworkGraph& graph, bool only_fabric) : n_(graph.n_vertices()) {
    least_.assign(static_cast<std::size_t>(n_) * n_, kFar);
    for (std::uint32_t v = 0; v < n_; ++v) at(v, v) = 0;
    for (const NetworkLink& link : graph.links()) {
      const bool is_fabric =
          !vertex_kind(graph.kind_of(link.from)).in_node || !vertex_kind(graph.kind_of(link.to)).in_node;
      if (is_fabric || !only_fabric) at(link.from, link.to) = 1;
    }
    for (std::uint32_t over = 0; over < n_; ++over) {
      if (!vertex_kind(graph.kind_of(over)).forwards) continue;
      for (std::uint32_t from = 0; from < n_; ++from) {
        for (std::uint32_t to = 0; to < n_; ++to)
          at(from, to) = std::min(at(from, to), at(from, over) + at(over, to));
      }
    }
  }
  int operator()(std::uint32_t from, std::uint32_t to) const {
    return least_[static_cast<std::size_t>(from) * n_ + to];
  }
  static constexpr int kFar = 1'000'000;

 private:
  int& at(std::uint32_t from, std::uint32_t to) { return least_[static_cast<std::size_t>(from) * n_ + to]; }
  std::uint32_t n_;
  std::vector<int> least_;
};

// Every link of it has a rate, so that routes show all their links.
NetworkDesign random_design(std::mt19937& random) {
  const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const int gpus = 1 << (1 + draw(2));
  const int nics = 1 << draw(3);
  NetworkDesign design = node_design(gpus, nics, {.bytes_per_s = 64});
  const int leaves = draw(2) == 0 ? 1 : nics;
  add_switches(design, "leaf", leaves, 1 + draw(2), Wiring::even, 50);
  add_switches(design, "spine", 1 + draw(3), draw(2) == 0 ? 0 : 4, Wiring::all, 25);
  add_switches(design, "core", 1 + draw(3), 0, Wiring::all, 25);
  if (design.vertices[4].every_nodes == 0) design.links.pop_back(), design.vertices.pop_back();
  return design;
}

}  // namespace

TEST_CASE("routes are paths, with as few links between switches as any") {
  std::mt19937 random(17);
  for (int round = 0; round < 40; ++round) {
    const Cluster cluster = cluster_of(random_design(random), 2 + static_cast<int>(random() % 5));
    const Topology topology(cluster);
    const NetworkGraph graph(*cluster.design, cluster.nodes);
    const Distances fabric(graph, true);
    const int gpus = cluster.gpus_per_node;
    const int nics = cluster.design->vertices[2].count;
    std::map<std::string, const NetworkLink*> links;
    for (const NetworkLink& link : graph.links()) links[graph.link_name(link)] = &link;
    for (int from = 0; from < topology.n_gpus(); ++from) {
      for (int to = 0; to < topology.n_gpus(); ++to) {
        if (from == to) continue;
        INFO(round << ": " << from << " to " << to);
        std::uint32_t at = graph.vertex(0, from / gpus, from % gpus);
        int n_fabric = 0;
        for (const std::string& name : link_names(topology, from, to)) {
          const NetworkLink& link = *links.at(name);
          REQUIRE(link.from == at);
          at = link.to;
          n_fabric +=
              !vertex_kind(graph.kind_of(link.from)).in_node || !vertex_kind(graph.kind_of(link.to)).in_node
                  ? 1
                  : 0;
        }
        REQUIRE(at == graph.vertex(0, to / gpus, to % gpus));
        int fewest = Distances::kFar;
        for (int out = 0; out < nics; ++out) {
          for (int in = 0; in < nics; ++in) {
            // NICs that the receiver itself is linked to.
            const bool is_own =
                nics <= gpus ? to % gpus / (gpus / nics) == in : in / (nics / gpus) == to % gpus;
            if (is_own)
              fewest =
                  std::min(fewest, fabric(graph.vertex(2, from / gpus, out), graph.vertex(2, to / gpus, in)));
          }
        }
        REQUIRE(n_fabric == (from / gpus == to / gpus ? 0 : fewest));
      }
    }
  }
}

TEST_CASE("equally short ways through a fat tree carry equally much of an exchange of all with all") {
  // 8 nodes of 4 GPUs, 2 nodes a leaf switch, 4 spines: 4 leaf switches of 4 uplinks.
  const Cluster cluster = cluster_of(fat_tree(4, 2, 4, 25), 8);
  const Topology topology(cluster);
  std::vector<int> gpus(32);
  for (int gpu = 0; gpu < 32; ++gpu) gpus[static_cast<std::size_t>(gpu)] = gpu;
  int n_uplinks = 0;
  for (const LinkUse& use : collective_links(topology, "all_to_all", gpus, 32)) {
    if (!topology.is_shared(use.link)) continue;
    ++n_uplinks;
    INFO(topology.link_name(use.link));
    CHECK(use.bytes == Approx(8.0 * 24 / 4));  // from 8 GPUs to 24 others, over 4 uplinks
  }
  CHECK(n_uplinks == 2 * 16);
}

TEST_CASE("in a rail-optimised network data for the same rail does not touch the spine") {
  NetworkDesign design = node_design(4, 4);
  add_switches(design, "leaf", 4, 4, Wiring::even, 50);
  add_switches(design, "spine", 2, 0, Wiring::all, 25);  // on which all rails meet
  const Topology topology(cluster_of(design, 8));
  for (int rail = 0; rail < 4; ++rail) {
    for (int node = 1; node < 4; ++node) {
      for (const std::string& name : link_names(topology, rail, 4 * node + rail))
        CHECK(name.find("spine") == std::string::npos);
    }
  }
  // For another rail it goes over NVLink first, and not over the spine either.
  CHECK(link_names(topology, 0, 4 + 2) ==
        std::vector<std::string>{"node 0 gpu 0 to nvswitch", "node 0 gpu 2 from nvswitch",
                                 "node 0 nic 2 to leaf", "node 1 nic 2 from leaf"});
  // To another group of nodes it has to.
  CHECK(link_names(topology, 0, 4 * 4).size() == 4);
}

TEST_CASE("data reaches a NIC over PCIe, and other GPUs over what is fastest") {
  NetworkDesign design{.name = "pcie",
                       .source = "",
                       .vertices = {{"gpu", VertexKind::gpu, 4, 1},
                                    {"pcie", VertexKind::pcie, 2, 1},
                                    {"host", VertexKind::pcie, 1, 1},
                                    {"nic", VertexKind::nic, 2, 1},
                                    {"bridge", VertexKind::nvswitch, 2, 1},
                                    {"switch", VertexKind::fabric_switch, 1, 0}},
                       .links = {{.from = 0, .to = 1, .bytes_per_s = 64},
                                 {.from = 1, .to = 2, .bytes_per_s = 64},
                                 {.from = 3, .to = 1, .bytes_per_s = 64},
                                 {.from = 0, .to = 4, .bytes_per_s = 300},
                                 {.from = 3, .to = 5, .bytes_per_s = 50}}};
  const Topology topology(cluster_of(design, 2));
  using Names = std::vector<std::string>;
  CHECK(link_names(topology, 0, 1) == Names{"node 0 gpu 0 to bridge", "node 0 gpu 1 from bridge"});
  CHECK(link_names(topology, 0, 2) == Names{"node 0 gpu 0 to pcie", "node 0 pcie 0 to host",
                                            "node 0 pcie 1 from host", "node 0 gpu 2 from pcie"});
  CHECK(link_names(topology, 1, 6) == Names{"node 0 gpu 1 to pcie", "node 0 pcie 0 to nic",
                                            "node 0 nic 0 to switch", "node 1 nic 1 from switch",
                                            "node 1 pcie 1 from nic", "node 1 gpu 2 from pcie"});
}

TEST_CASE("72 GPUs are in one NVLink domain") {
  const Topology topology(cluster_of(node_design(72, 72), 1));
  for (int to = 1; to < 72; ++to)
    CHECK(link_names(topology, 0, to) ==
          std::vector<std::string>{"node 0 gpu 0 to nvswitch",
                                   "node 0 gpu " + std::to_string(to) + " from nvswitch"});
}

TEST_CASE("a design of the same parts has the links and routes of numbers") {
  for (const bool rails : {false, true}) {
    Cluster numbers{.name = "test", .source = "", .gpu = {}, .nodes = 6, .gpus_per_node = 4};
    numbers.network = {.nvlink_bytes_per_s = 400,
                       .nics_per_node = 4,
                       .nic_bytes_per_s = 50,
                       .rails = rails,
                       .nodes_per_leaf = 2,
                       .oversubscription = 2};
    NetworkDesign design = node_design(4, 4);
    const int leaves = rails ? 4 : 1;
    add_switches(design, "leaf", leaves, 2, Wiring::even, 50);
    add_switches(design, "spine", leaves, 0, Wiring::even, rails ? 50 : 200);
    const Topology one(numbers);
    const Topology other(cluster_of(design, 6));
    CHECK(one.link_bytes_per_s() == other.link_bytes_per_s());
    for (int from = 0; from < 24; ++from) {
      for (int to = 0; to < 24; ++to) CHECK(link_names(one, from, to) == link_names(other, from, to));
    }
  }
}

TEST_CASE("networks in which a GPU does not reach another are refused") {
  CHECK_THROWS_WITH(Topology(cluster_of(node_design(2, 2), 2)),
                    "cluster test: no path from node 0 gpu 0 to node 1 gpu 0");
  NetworkDesign islands = node_design(2, 2);
  add_switches(islands, "leaf", 1, 2, Wiring::even, 50);
  CHECK_NOTHROW(Topology(cluster_of(islands, 2)));
  CHECK_THROWS_WITH(Topology(cluster_of(islands, 4)),
                    "cluster test: no path from node 0 gpu 0 to node 2 gpu 0");
  NetworkDesign apart = node_design(2, 2);
  apart.links.erase(apart.links.begin());
  CHECK_THROWS_AS(Topology(cluster_of(apart, 1)), std::invalid_argument);
  NetworkDesign free = node_design(2, 2);
  free.links[0].bytes_per_s = 0;
  CHECK_THROWS_WITH(Topology(cluster_of(free, 1)), "cluster test: rates of its network not over 0");
}

TEST_CASE("paths of too many links are refused") {
  // The GPUs' NIC is behind 16 PCIe switches.
  NetworkDesign design{
      .name = "chain", .source = "", .vertices = {{"gpu", VertexKind::gpu, 2, 1}}, .links = {}};
  for (std::size_t i = 1; i <= 16; ++i) {
    design.vertices.push_back({"pcie" + std::to_string(i), VertexKind::pcie, 1, 1});
    design.links.push_back({.from = i - 1, .to = i, .bytes_per_s = 64});
  }
  design.vertices.push_back({"nic", VertexKind::nic, 1, 1});
  design.links.push_back({.from = 16, .to = 17, .bytes_per_s = 64});
  add_switches(design, "switch", 1, 0, Wiring::even, 50);
  CHECK_THROWS_WITH(Topology(cluster_of(design, 2)), "cluster test: paths of 35 links, expected at most 32");
}

TEST_CASE("65,536 nodes with a leaf switch each need no table of all pairs of switches") {
  const Topology topology(cluster_of(fat_tree(1, 1, 2, 25), 65'536));
  CHECK(link_names(topology, 0, 65'535).size() == 4);
}

TEST_CASE("nodes whose GPUs meet at a NIC's switch alone exchange over it") {
  NetworkDesign design = node_design(2, 2, {.bytes_per_s = 64});
  add_switches(design, "switch", 1, 0, Wiring::even, 50);
  design.links.erase(design.links.begin());
  design.vertices.erase(design.vertices.begin() + 1);
  for (LinkRule& rule : design.links) {
    if (rule.from > 0) --rule.from;
    --rule.to;
  }
  const Topology topology(cluster_of(design, 2));
  CHECK(link_names(topology, 0, 1) ==
        std::vector<std::string>{"node 0 gpu 0 to nic", "node 0 nic 0 to switch", "node 0 nic 1 from switch",
                                 "node 0 gpu 1 from nic"});
}

}  // namespace packsim
