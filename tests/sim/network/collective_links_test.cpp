#include "sim/network/collective_links.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/kernels/collectives.hpp"
#include "tests/sim/closed_forms/network_closed_forms.hpp"

namespace packsim {
namespace {

// Nodes of 8 GPUs and 8 NICs, where nothing else is said.
Topology fabric(int nodes, bool rails, int nodes_per_leaf = 0, int nics = 8) {
  return Topology({.name = "test",
                   .source = "",
                   .gpu = {},
                   .nodes = nodes,
                   .gpus_per_node = 8,
                   .network = {.nvlink_bytes_per_s = 450e9,
                               .nics_per_node = nics,
                               .nic_bytes_per_s = 50e9,
                               .rails = rails,
                               .nodes_per_leaf = nodes_per_leaf}});
}

std::vector<int> first(int n) {
  std::vector<int> gpus(static_cast<std::size_t>(n));
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

class Bytes {
 public:
  Bytes(const Topology& topology, const std::vector<LinkUse>& uses) {
    for (const LinkUse& use : uses) {
      REQUIRE(bytes_.emplace(topology.link_name(use.link), use.bytes).second);  // each link once
    }
  }
  double at(const std::string& link) const { return bytes_.contains(link) ? bytes_.at(link) : 0; }
  // Over all links of such names.
  double sum(const std::string& prefix, const std::string& suffix) const {
    double all = 0;
    for (const auto& [link, bytes] : bytes_) {
      if (link.starts_with(prefix) && link.ends_with(suffix)) all += bytes;
    }
    return all;
  }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::map<std::string, double> bytes_;
};

Bytes bytes(const Topology& topology, const std::string& op, const std::vector<int>& gpus, double payload) {
  return {topology, collective_links(topology, op, gpus, payload)};
}

}  // namespace

TEST_CASE("all-to-all in a node: a GPU sends and receives n-1 of n parts over NVLink") {
  const Topology topology = fabric(1, false);
  const Bytes used = bytes(topology, "all_to_all", first(8), 800);
  CHECK(used.size() == 16);
  for (int gpu = 0; gpu < 8; ++gpu) {
    CHECK(used.at("node 0 gpu " + std::to_string(gpu) + " to nvswitch") == Approx(700));
    CHECK(used.at("node 0 gpu " + std::to_string(gpu) + " from nvswitch") == Approx(700));
  }
}

TEST_CASE("all-to-all between nodes: what is for other nodes goes through the GPU's NIC") {
  // 4 nodes: of 32 parts of 100, 7 stay in the node and 24 leave it.
  const Bytes used = bytes(fabric(4, false, 1), "all_to_all", first(32), 3200);
  CHECK(used.at("node 2 gpu 5 to nvswitch") == Approx(700));
  CHECK(used.at("node 2 nic 5 to leaf") == Approx(2400));
  CHECK(used.at("node 2 nic 5 from leaf") == Approx(2400));
  CHECK(used.at("leaf 2 to spine") == Approx(all_to_all_crossing_bytes(8, 32, 3200)));
  CHECK(used.at("leaf 2 from spine") == Approx(8 * 2400));

  // With rails, the parts for 7 of 8 GPUs of the 3 other nodes take NVLink first: 700 + 2100. They leave
  // through the NICs of the rails that they are for.
  const Bytes railed = bytes(fabric(4, true, 1), "all_to_all", first(32), 3200);
  CHECK(railed.at("node 2 gpu 5 to nvswitch") == Approx(2800));
  CHECK(railed.at("node 2 gpu 5 from nvswitch") == Approx(2800));
  CHECK(railed.at("node 2 nic 5 to leaf") == Approx(2400));
  CHECK(railed.at("leaf 2.5 to spine") == Approx(2400));
}

TEST_CASE("Every collective of the table has links, and a gradient that carries as much back") {
  const Topology topology = fabric(1, false);
  for (const CollectiveKind& kind : kCollectiveKinds) {
    CAPTURE(kind.name);
    // Of two GPUs each sends half of the payload, or the first sends all of it; an all-reduce sends the
    // halves twice.
    const Bytes used = bytes(topology, std::string(kind.name), first(2), 800);
    const bool sends_all = kind.algorithm.sends_whole_payload || kind.name == "all_reduce";
    CHECK(used.at("node 0 gpu 0 to nvswitch") == Approx(sends_all ? 800 : 400));
    CHECK(used.at("node 0 gpu 1 from nvswitch") == Approx(sends_all ? 800 : 400));
    const CollectiveKind& gradient = collective_kind(kind.gradient);
    CHECK(gradient.gradient == kind.name);
    CHECK(gradient.passes == kind.passes);
  }
}

TEST_CASE("rings in a node: every GPU passes (n-1)/n of the payload on over NVLink") {
  const Topology topology = fabric(1, false);
  for (const char* op : {"all_gather", "reduce_scatter", "all_reduce"}) {
    const Bytes used = bytes(topology, op, first(8), 800);
    const double expected = ring_crossing_bytes(8, 800, std::string(op) == "all_reduce" ? 2 : 1);
    CHECK(expected == (std::string(op) == "all_reduce" ? 1400 : 700));
    CHECK(used.size() == 16);
    for (int gpu = 0; gpu < 8; ++gpu)
      CHECK(used.at("node 0 gpu " + std::to_string(gpu) + " to nvswitch") == Approx(expected));
  }
}

TEST_CASE("rings between nodes: (n-1)/n of the payload leaves a node, spread over its NICs") {
  // 16 GPUs: 15/16 of 1600, an eighth of it on each NIC. Each GPU is the last of one of the 8 rings.
  const Bytes used = bytes(fabric(2, false), "all_gather", first(16), 1600);
  CHECK(used.sum("node 1 nic", "to leaf") == Approx(ring_crossing_bytes(16, 1600, 1)));
  CHECK(used.at("node 1 nic 3 to leaf") == Approx(1500.0 / 8));
  CHECK(used.at("node 1 nic 3 from leaf") == Approx(1500.0 / 8));
  CHECK(used.at("node 1 gpu 3 to nvswitch") == Approx(1500.0 * 7 / 8));

  // With rails the last GPU hands over to the NIC of the first one: NVLink in every ring.
  const Bytes railed = bytes(fabric(2, true), "all_reduce", first(16), 1600);
  CHECK(railed.at("node 1 nic 3 to leaf") == Approx(3000.0 / 8));
  CHECK(railed.at("node 1 gpu 3 to nvswitch") == Approx(3000.0));
  CHECK(railed.at("node 1 gpu 3 from nvswitch") == Approx(3000.0));
}

TEST_CASE("a ring of one GPU a node stays on its rail") {
  // GPU 2 of each of 4 nodes: one ring over NIC 2, no NVLink.
  const Bytes used = bytes(fabric(4, true), "reduce_scatter", {2, 10, 18, 26}, 400);
  CHECK(used.size() == 8);
  for (int node = 0; node < 4; ++node)
    CHECK(used.at("node " + std::to_string(node) + " nic 2 to leaf") == Approx(300));
}

TEST_CASE("rings of nodes with different numbers of GPUs enter the smaller ones' GPUs in turn") {
  // Nodes have 3 and 2 GPUs: 3 rings of 1/3 of 4/5 of 1500. In the smaller node two enter GPU 0 and one GPU
  // 1, and leave from the other.
  const Bytes used = bytes(fabric(2, false), "all_gather", {0, 1, 2, 8, 9}, 1500);
  CHECK(used.at("node 0 nic 1 to leaf") == Approx(400));
  CHECK(used.at("node 1 nic 0 from leaf") == Approx(800));
  CHECK(used.at("node 1 nic 0 to leaf") == Approx(400));
  CHECK(used.at("node 1 nic 1 to leaf") == Approx(800));
}

TEST_CASE("the uplinks of an oversubscribed fabric carry what leaves a leaf group") {
  // 4 nodes, 2 a leaf group. Rings, in node order, leave each group once.
  const Bytes ring = bytes(fabric(4, false, 2), "all_gather", first(32), 3200);
  for (const char* link : {"leaf 0 to spine", "leaf 0 from spine", "leaf 1 to spine", "leaf 1 from spine"})
    CHECK(ring.at(link) == Approx(ring_crossing_bytes(32, 3200, 1)));
  const Bytes railed = bytes(fabric(4, true, 2), "all_gather", first(32), 3200);
  CHECK(railed.at("leaf 1.6 to spine") == Approx(ring_crossing_bytes(32, 3200, 1) / 8));
  // All-to-all sends the half that is for the other group: 16 times as much.
  const Bytes exchange = bytes(fabric(4, false, 2), "all_to_all", first(32), 3200);
  CHECK(exchange.at("leaf 0 to spine") == Approx(16 * 1600));
  CHECK(exchange.at("leaf 0 to spine") == Approx(all_to_all_crossing_bytes(16, 32, 3200)));
}

TEST_CASE("a copy takes one route, and a step of ring attention one from each GPU to the next") {
  const Topology topology = fabric(2, true);
  const Bytes copy(topology, transfer_links(topology, 1, 9, 64));
  CHECK(copy.size() == 2);
  CHECK(copy.at("node 0 nic 1 to leaf") == 64);
  CHECK(copy.at("node 1 nic 1 from leaf") == 64);
  CHECK(bytes(topology, "send_recv", {1, 9}, 64).at("node 0 nic 1 to leaf") == 64);

  // 0 to 1 in its node; 1 to 8 changes to rail 0 by GPU 0; 8 to 9 in its node; 9 to 0 changes by GPU 8.
  const Bytes ring(topology, ring_exchange_links(topology, std::vector{0, 1, 8, 9}, 10));
  CHECK(ring.at("node 0 gpu 0 to nvswitch") == 10);
  CHECK(ring.at("node 0 gpu 1 to nvswitch") == 10);
  CHECK(ring.at("node 0 gpu 1 from nvswitch") == 10);
  CHECK(ring.at("node 0 gpu 0 from nvswitch") == 10);
  CHECK(ring.at("node 0 nic 0 to leaf") == 10);
  CHECK(ring.at("node 0 nic 0 from leaf") == 10);
  CHECK(ring.sum("node 0 nic", "to leaf") == 10);
}

TEST_CASE("as much is received as is sent, by GPUs, NICs and leaf switches") {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    const Topology topology = fabric(6, random() % 2 == 0, static_cast<int>(random() % 4), 1 << random() % 4);
    std::vector<int> gpus = first(48);
    for (std::size_t i = 47; i > 0; --i) std::swap(gpus[i], gpus[random() % (i + 1)]);
    gpus.resize(2 + random() % 20);
    for (const char* op : {"all_to_all", "all_gather", "reduce_scatter", "all_reduce"}) {
      INFO(round << " " << op);
      const Bytes used = bytes(topology, op, gpus, 1e6);
      CHECK(used.sum("leaf", "to spine") == Approx(used.sum("leaf", "from spine")));
      CHECK(used.sum("", "to nvswitch") == Approx(used.sum("", "from nvswitch")));
      for (int node = 0; node < 6; ++node) {
        const std::string name = "node " + std::to_string(node) + " ";
        CHECK(used.sum(name + "gpu", "to nvswitch") == Approx(used.sum(name + "gpu", "from nvswitch")));
        CHECK(used.sum(name + "nic", "to leaf") == Approx(used.sum(name + "nic", "from leaf")));
        if (used.sum(name + "nic", "to leaf") == 0) continue;
        const auto inside =
            std::ranges::count_if(gpus, [&](int gpu) { return topology.node_of(gpu) == node; });
        const auto n = static_cast<int>(gpus.size());
        const std::string what = op;
        CHECK(used.sum(name + "nic", "to leaf") ==
              Approx(what == "all_to_all" ? all_to_all_crossing_bytes(static_cast<int>(inside), n, 1e6)
                                          : ring_crossing_bytes(n, 1e6, what == "all_reduce" ? 2 : 1)));
      }
    }
  }
}

TEST_CASE("a representative has its own links, and the group's bytes on those that the group shares") {
  // 8 GPUs on 4 NICs, each node on a leaf switch.
  const Topology topology = fabric(2, false, 1, 4);
  const std::vector<LinkUse> all = collective_links(topology, "all_to_all", first(16), 1600);
  const Bytes used(topology, representative_links(topology, all, 0));
  CHECK(used.size() == 8);
  CHECK(used.at("node 0 gpu 0 to nvswitch") == Approx(700));
  CHECK(used.at("node 0 gpu 0 from nvswitch") == Approx(700));
  CHECK(used.at("node 0 nic 0 to leaf") == Approx(2 * 800));  // of GPUs 0 and 1
  CHECK(used.at("node 0 nic 0 from leaf") == Approx(2 * 800));
  for (const char* link : {"leaf 0 to spine", "leaf 0 from spine", "leaf 1 to spine", "leaf 1 from spine"})
    CHECK(used.at(link) == Approx(8 * 800));
}

TEST_CASE("one GPU, and a network that is not stated, use no links") {
  const Topology topology = fabric(1, false);
  for (const char* op : {"all_to_all", "all_gather", "reduce_scatter", "all_reduce"})
    CHECK(collective_links(topology, op, std::vector{3}, 100).empty());
  CHECK(ring_exchange_links(topology, std::vector{3}, 100).empty());
  const Topology unknown({.name = "", .source = "", .gpu = {}, .nodes = 2});
  CHECK(collective_links(unknown, "all_reduce", first(16), 100).empty());
}

TEST_CASE("collectives that are not, and groups that cannot be, are refused") {
  const Topology topology = fabric(1, false);
  CHECK_THROWS_WITH(collective_links(topology, "broadcast", first(2), 1),
                    "collective broadcast, expected all_to_all, all_gather, reduce_scatter, all_reduce or "
                    "send_recv");
  CHECK_THROWS_AS(collective_links(topology, "broadcast", first(2), 1), std::invalid_argument);
  CHECK_THROWS_AS(collective_links(topology, "all_reduce", std::vector{1, 2, 1}, 1), std::logic_error);
  CHECK_THROWS_AS(collective_links(topology, "all_reduce", std::vector{7, 8}, 1), std::logic_error);
  CHECK_THROWS_AS(collective_links(topology, "send_recv", first(3), 1), std::logic_error);
  CHECK_THROWS_AS(ring_exchange_links(topology, std::vector{1, 1}, 1), std::logic_error);
}

}  // namespace packsim
