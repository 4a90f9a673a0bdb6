#include "models/network/network_rates.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "models/network/cluster_network.hpp"
#include "tests/models/network/network_examples.hpp"

namespace packsim {
namespace {

using namespace packsim_test;

Cluster numbered(int nodes, int gpus, Network network) {
  return {.name = "test", .source = "", .gpu = {}, .nodes = nodes, .gpus_per_node = gpus, .network = network};
}

double bisection(const NetworkDesign& design, int nodes) {
  return bisection_bytes_per_s(design, nodes);
}

}  // namespace

TEST_CASE("the rates of numbers are the numbers, to the last bit") {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const int gpus = 1 << random() % 5;
    const Network numbers{.nvlink_bytes_per_s = 1e9 * static_cast<double>(1 + random() % 900),
                          .nics_per_node = 1 << random() % 6,
                          .nic_bytes_per_s = 12.5e9 * static_cast<double>(1 + random() % 8),
                          .latency_s = 1e-6 * static_cast<double>(random() % 4),
                          .rails = random() % 2 == 0,
                          .nodes_per_leaf = static_cast<int>(random() % 3) * 4,
                          .oversubscription = static_cast<double>(1 << random() % 3)};
    const NetworkRates rates = network_rates(numbered(3, gpus, numbers));
    INFO(gpus << " GPUs, " << numbers.nics_per_node << " NICs, " << numbers.nodes_per_leaf);
    CHECK(rates.gpu_bytes_per_s == numbers.nvlink_bytes_per_s);
    const double nic = numbers.nics_per_node * numbers.nic_bytes_per_s / gpus;
    CHECK(rates.nic_bytes_per_s() == nic);
    CHECK(rates.latency_s == Approx(numbers.latency_s));
    REQUIRE(rates.parts.size() == (numbers.nodes_per_leaf == 0 ? 1 : 2));
    if (numbers.nodes_per_leaf == 0) continue;
    CHECK(rates.parts[1].nodes == numbers.nodes_per_leaf);
    CHECK(rates.parts[1].gpu_bytes_per_s == nic / numbers.oversubscription);
  }
}

TEST_CASE("numbers that are not known give rates that are not known") {
  const NetworkRates none = network_rates(numbered(2, 8, {}));
  CHECK(none.gpu_bytes_per_s == 0);
  CHECK(none.nic_bytes_per_s() == 0);
  CHECK(none.parts.empty());
  const NetworkRates inside = network_rates(numbered(2, 8, {.nvlink_bytes_per_s = 9e9, .nics_per_node = 8}));
  CHECK(inside.gpu_bytes_per_s == 9e9);
  CHECK(inside.parts.empty());
}

TEST_CASE("half of a fat tree sends to the other half what half of its leaf switches have uplinks for") {
  // 8 nodes of 2 GPUs, 2 nodes a leaf switch: 4 leaf switches, of which 2 are in each half.
  for (const int spines : {1, 2, 4}) {
    for (const double uplink : {10.0, 25.0, 50.0}) {
      INFO(spines << " " << uplink);
      // No more than the NICs of 4 nodes, 2 of 50 each.
      CHECK(bisection(fat_tree(2, 2, spines, uplink), 8) == Approx(std::min(2 * spines * uplink, 400.0)));
    }
  }
  // One node: two of its four GPUs to the others.
  CHECK(bisection(node_design(4, 4), 1) == Approx(800));
}

TEST_CASE("an oversubscription of 2 halves the rate between leaf switches, and that of halves") {
  const Network even{.nvlink_bytes_per_s = 450e9,
                     .nics_per_node = 8,
                     .nic_bytes_per_s = 50e9,
                     .rails = true,
                     .nodes_per_leaf = 2,
                     .oversubscription = 1};
  Network half = even;
  half.oversubscription = 2;
  const Cluster one = numbered(8, 8, even);
  const Cluster other = numbered(8, 8, half);
  CHECK(network_rates(other).parts[0].gpu_bytes_per_s == network_rates(one).parts[0].gpu_bytes_per_s);
  CHECK(network_rates(other).parts[1].gpu_bytes_per_s == network_rates(one).parts[1].gpu_bytes_per_s / 2);
  CHECK(bisection(network_of(one), 8) == Approx(4 * 8 * 50e9));
  CHECK(bisection(network_of(other), 8) == Approx(2 * 8 * 50e9));
}

TEST_CASE("every level of switches has the rate of what leaves it") {
  // 2 GPUs at 50 a node; 2 nodes a leaf switch with an uplink of 120, 4 nodes a spine with one of 160.
  NetworkDesign design = node_design(2, 2);
  add_switches(design, "leaf", 1, 2, Wiring::even, 50);
  add_switches(design, "spine", 1, 4, Wiring::even, 120);
  add_switches(design, "core", 1, 0, Wiring::even, 160);
  const NetworkRates rates = network_rates(cluster_of(design, 16));
  REQUIRE(rates.parts.size() == 3);
  CHECK(rates.parts[0].gpu_bytes_per_s == Approx(50));
  CHECK(rates.parts[1].gpu_bytes_per_s == Approx(120.0 / 4));
  CHECK(rates.parts[2].nodes == 4);
  CHECK(rates.parts[2].gpu_bytes_per_s == Approx(160.0 / 8));
  // 4 spines, 2 in each half.
  CHECK(bisection(design, 16) == Approx(2 * 160));
}

TEST_CASE("GPUs that share the host's link have their part of it") {
  // Two PCIe switches of two GPUs each, and a host between them: of 3 equal parts that a GPU sends, 2 cross,
  // as do those of its neighbour. 4 parts of 3 GPU rates on a link of 60: a GPU sends 3 * 60 / 4.
  NetworkDesign design{
      .name = "pcie",
      .source = "",
      .vertices = {{"gpu", VertexKind::gpu, 4, 1},
                   {"switch", VertexKind::pcie, 2, 1},
                   {"host", VertexKind::pcie, 1, 1}},
      .links = {{.from = 0, .to = 1, .bytes_per_s = 60}, {.from = 1, .to = 2, .bytes_per_s = 60}}};
  const NetworkRates rates = network_rates(cluster_of(design, 1));
  CHECK(rates.gpu_bytes_per_s == Approx(45));
  CHECK(rates.parts.empty());
  // A full mesh instead: each of 3 links carries one part.
  design.links = {{.from = 0, .to = 0, .wiring = Wiring::all, .bytes_per_s = 20}};
  CHECK(network_rates(cluster_of(design, 1)).gpu_bytes_per_s == Approx(60));
}

TEST_CASE("a GPU reaches its NIC over PCIe, and no faster") {
  NetworkDesign design = node_design(4, 4, {.bytes_per_s = 30});
  add_switches(design, "switch", 1, 0, Wiring::even, 50);
  CHECK(network_rates(cluster_of(design, 2)).nic_bytes_per_s() == Approx(30));
}

TEST_CASE("links without a rate carry anything") {
  NetworkDesign design = node_design(2, 2);
  design.links[0].bytes_per_s.reset();
  CHECK(std::isinf(network_rates(cluster_of(design, 1)).gpu_bytes_per_s));
}

TEST_CASE("latencies add up along the least path between nodes") {
  NetworkDesign design = node_design(2, 2, {.latency_s = 1e-6});
  add_switches(design, "switch", 1, 0, Wiring::even, 50);
  design.links.back().latency_s = 2e-6;
  CHECK(network_rates(cluster_of(design, 2)).latency_s == Approx(2 * (1e-6 + 2e-6)));
}

TEST_CASE("no rate falls where a link gets faster") {
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    NetworkDesign design = node_design(4, 2, {.bytes_per_s = 20.0 + static_cast<double>(random() % 60)});
    add_switches(design, "leaf", 1 + static_cast<int>(random() % 2), 2, Wiring::even, 40);
    add_switches(design, "spine", 2, 0, Wiring::all, 5.0 + static_cast<double>(random() % 60));
    const NetworkRates before = network_rates(cluster_of(design, 4));
    const double half = bisection(design, 4);
    LinkRule& faster = design.links[random() % design.links.size()];
    faster.bytes_per_s = *faster.bytes_per_s * 1.5;
    const NetworkRates after = network_rates(cluster_of(design, 4));
    CHECK(after.gpu_bytes_per_s >= before.gpu_bytes_per_s);
    CHECK(bisection(design, 4) >= half);
    for (std::size_t i = 0; i < before.parts.size(); ++i)
      CHECK(after.parts[i].gpu_bytes_per_s >= before.parts[i].gpu_bytes_per_s);
  }
}

}  // namespace packsim
