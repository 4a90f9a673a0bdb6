#include "models/network_design.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "models/network/network_graph.hpp"
#include "tests/models/network/network_examples.hpp"

namespace packsim {
namespace {

using namespace packsim_test;

std::vector<std::string> texts(const NetworkDesign& design, int gpus_per_node) {
  std::vector<std::string> all;
  for (const DesignMistake& mistake : mistakes_of(design, gpus_per_node)) {
    all.push_back((mistake.in_links ? "link " : "vertex ") + std::to_string(mistake.index) + " " +
                  mistake.member + ": " + mistake.expected + ", got " + mistake.got);
  }
  return all;
}

int n_links_between(const NetworkGraph& graph, const std::string& from, const std::string& to) {
  int n = 0;
  for (const NetworkLink& link : graph.links())
    n += graph.vertex_name(link.from) == from && graph.vertex_name(link.to) == to ? 1 : 0;
  return n;
}

}  // namespace

TEST_CASE("a design is repeated for every node and for every block of nodes") {
  // 5 nodes of 4 GPUs and 4 NICs, 2 nodes a leaf switch: 3 leaf switches, each on 2 spines.
  const NetworkGraph graph(fat_tree(4, 2, 2, 10), 5);
  CHECK(graph.n_vertices() == 5 * (4 + 1 + 4) + 3 + 2);
  CHECK(graph.links().size() == 2 * (20 + 20 + 20 + 6));
  CHECK(graph.n_rated_links() == 2 * (20 + 20 + 6));  // all but GPU to NIC
  CHECK(n_links_between(graph, "node 4 nic 3", "leaf 2") == 1);
  CHECK(n_links_between(graph, "leaf 2", "node 3 nic 3") == 0);
  CHECK(n_links_between(graph, "spine 1", "leaf 0") == 1);
  CHECK(graph.link_name(graph.links().back()) == "leaf 2 from spine 1");
}

TEST_CASE("even wiring gives each its share, in order") {
  const auto pairs = [](int from, int to) {
    NetworkDesign design = node_design(from, to);
    return wired_groups(design, {.from = 0, .to = 2}).links;
  };
  using Pairs = std::vector<std::pair<int, int>>;
  CHECK(pairs(4, 2) == Pairs{{0, 0}, {1, 0}, {2, 1}, {3, 1}});
  CHECK(pairs(2, 4) == Pairs{{0, 0}, {0, 1}, {1, 2}, {1, 3}});
  CHECK(pairs(2, 2) == Pairs{{0, 0}, {1, 1}});
}

TEST_CASE("within a group every two vertices are linked once") {
  const NetworkDesign design = node_design(4, 4);
  CHECK(wired_groups(design, {.from = 0, .to = 0, .wiring = Wiring::all}).links.size() == 6);
}

TEST_CASE("a switch that leads nowhere has no links") {
  // With one leaf switch the spines have nothing to connect.
  const NetworkGraph graph(fat_tree(2, 4, 1, 10), 3);
  CHECK(graph.links().size() == 2 * (6 + 6 + 6));
}

TEST_CASE("a design without mistakes has none") {
  CHECK(texts(fat_tree(4, 2, 2, 10), 4).empty());
}

TEST_CASE("every mistake in a design is found, all at once") {
  NetworkDesign design = node_design(4, 3);                   // 4 GPUs cannot share 3 NICs evenly
  add_switches(design, "leaf", 1, 4, Wiring::all, 50);        // 3
  add_switches(design, "pod", 1, 6, Wiring::even, 50);        // 4: blocks of 6 nodes cross those of 4
  design.vertices.push_back({"gpu", VertexKind::gpu, 8, 1});  // 5
  design.vertices.push_back({"idle", VertexKind::fabric_switch, 1, 0});  // 6
  design.links.push_back({.from = 1, .to = 0, .bytes_per_s = 1});        // 4
  design.links.push_back({.from = 5, .to = 5, .bytes_per_s = 1});        // 5
  design.links.push_back({.from = 3, .to = 0, .bytes_per_s = 1});        // 6
  design.links.push_back({.from = 2, .to = 2, .wiring = Wiring::all});   // 7
  CHECK(texts(design, 4) ==
        std::vector<std::string>{
            "vertex 4 every_nodes: a divisor or a multiple of 4, as of leaf, got 6",
            "vertex 5 name: a name of its own, got gpu", "vertex 5 kind: one group of GPUs, got a second one",
            "vertex 5 count: 4, the GPUs of a node of the cluster, got 8",
            "link 1 wiring: all, or numbers of vertices of which one divides the other, got 4 gpu and 3 nic",
            "link 4 to: each two groups in one rule, got nvswitch and gpu once more",
            "link 5 wiring: all within one group, got even",
            "link 6 to: a NIC between a node and a switch, got leaf and gpu",
            "link 7 to: no link between NICs, got nic and nic",
            "vertex 6 name: vertices at an end of a link, got idle without links"});
  CHECK(texts({.vertices = {{"s", VertexKind::fabric_switch, 1, 0}}}, 4) ==
        std::vector<std::string>{"vertex 0 kind: a group of GPUs among the vertices, got none",
                                 "vertex 0 name: vertices at an end of a link, got s without links"});
}

TEST_CASE("a rule has at most 65 536 links in a block") {
  NetworkDesign design = node_design(1, 1);
  design.vertices.push_back({.name = "a", .kind = VertexKind::fabric_switch, .count = 256, .every_nodes = 0});
  design.vertices.push_back({.name = "b", .kind = VertexKind::fabric_switch, .count = 256, .every_nodes = 0});
  const std::size_t n = design.vertices.size();
  design.links.push_back({.from = n - 2, .to = n - 1, .wiring = Wiring::all});
  const std::size_t before = texts(design, 1).size();
  design.vertices.back().count = 257;
  const std::vector<std::string> after = texts(design, 1);
  REQUIRE(after.size() == before + 1);
  CHECK(after[0] == "link " + std::to_string(design.links.size() - 1) +
                        " wiring: at most 65536 links in a block, got 65792");
}

}  // namespace packsim
