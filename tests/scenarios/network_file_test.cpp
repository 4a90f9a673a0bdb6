#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "messages.hpp"
#include "models/network/cluster_network.hpp"
#include "models/network/network_rates.hpp"
#include "scenario_text.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "sim/network/topology.hpp"
#include "temp_folder.hpp"
#include "tests/shipped_data.hpp"

namespace packsim {
namespace {

using Messages = std::vector<std::string>;

using packsim_test::kData;

// A cluster type whose network is the given JSON.
class ClusterWithNetwork {
 public:
  explicit ClusterWithNetwork(const std::string& network, int gpus_per_node = 8,
                              const std::string& gpu = "h100-sxm-80gb")
      : path_(folder_.write("c.json", R"({"format": 1, "name": "c", "source": "made up", "gpu": ")" + gpu +
                                          R"(", "gpus_per_node": )" + std::to_string(gpus_per_node) +
                                          R"(, "network": )" + network + "}")) {}

  Cluster load(int nodes = 1) const {
    Cluster cluster = load_cluster_type(path_, kData);
    cluster.nodes = nodes;
    return cluster;
  }
  void write(const std::string& name, const std::string& text) const { folder_.write(name, text); }
  /// Without the folder that they all start with.
  Messages mistakes() const {
    Messages messages = messages_of([&] { load(); });
    const std::string folder = path_.substr(0, path_.size() - std::string("c.json").size());
    for (std::string& message : messages) {
      for (std::size_t at = message.find(folder); at != std::string::npos; at = message.find(folder))
        message.erase(at, folder.size());
    }
    return messages;
  }

 private:
  TempFolder folder_;
  std::string path_;
};

std::string network(const std::string& vertices, const std::string& links) {
  return R"({"format": 1, "name": "n", "source": "made up", "vertices": [)" + vertices + R"(], "links": [)" +
         links + "]}";
}

const std::string kGpu = R"({"name": "gpu", "kind": "gpu"}, )";
const std::string kNode = kGpu + R"({"name": "nvswitch", "kind": "nvswitch"})";
const std::string kNvlink = R"({"from": "gpu", "to": "nvswitch", "bytes_per_s": "nvlink"})";

}  // namespace

TEST_CASE("the shipped networks can be read, connect all GPUs and have the rates that they state") {
  struct Expected {
    const char* name;
    int gpus;
    double nic;
    double bisection;  // of 64 nodes
  };
  // 64 nodes: rails 2 groups of 32 of which one is half: 8 leaf switches with 32 uplinks of 50 GB/s. Fat
  // tree: 8 leaf switches of 16. Ethernet: 2 switches of 4 uplinks of 12.5. NVL72: 32 nodes of 72 NICs.
  const Expected all[] = {{"rail-optimised", 8, 50e9, 8 * 32 * 50e9},
                          {"fat-tree", 8, 50e9, 8 * 16 * 50e9},
                          {"ethernet", 8, 12.5e9 / 8, 2 * 4 * 12.5e9},
                          {"nvl72", 72, 50e9, 32.0 * 72 * 50e9}};
  CHECK(names_of(kNetworkFiles, kData).size() == std::size(all));
  for (const Expected& expected : all) {
    INFO(expected.name);
    const Cluster cluster =
        ClusterWithNetwork('"' + std::string(expected.name) + '"', expected.gpus).load(64);
    CHECK(cluster.design->name == expected.name);
    const NetworkRates rates = network_rates(cluster);
    CHECK(rates.gpu_bytes_per_s == Approx(450e9));
    CHECK(rates.nic_bytes_per_s() == Approx(expected.nic));
    CHECK(bisection_bytes_per_s(*cluster.design, 64) == Approx(expected.bisection));
    CHECK_NOTHROW(Topology(cluster));
  }
}

TEST_CASE("the rail-optimised network has the rates of the numbers of a DGX H100") {
  const NetworkRates numbers = network_rates(load_cluster_type("h100-sxm-80gb", kData));
  const NetworkRates graph = network_rates(ClusterWithNetwork(R"("rail-optimised")").load());
  CHECK(graph.gpu_bytes_per_s == numbers.gpu_bytes_per_s);
  REQUIRE(graph.parts.size() == numbers.parts.size());
  for (std::size_t i = 0; i < graph.parts.size(); ++i) {
    CHECK(graph.parts[i].nodes == numbers.parts[i].nodes);
    CHECK(graph.parts[i].gpu_bytes_per_s == numbers.parts[i].gpu_bytes_per_s);
  }
}

TEST_CASE("a network may be in the cluster's file, or in one beside it") {
  const std::string text = network(kNode, kNvlink);
  const Cluster inside = ClusterWithNetwork(text).load();
  CHECK(inside.design->vertices[0].count == 8);
  CHECK(network_rates(inside).gpu_bytes_per_s == 450e9);  // an H100's NVLink
  const ClusterWithNetwork beside(R"("./n.json")");
  beside.write("n.json", text);
  CHECK(beside.load().design->name == "n");
}

TEST_CASE("defaults: a GPU's number is the cluster's, each has a NIC, links have one cable and no latency") {
  const Cluster cluster =
      ClusterWithNetwork(
          network(kNode + R"(, {"name": "nic", "kind": "nic"}, {"name": "s", "kind": "switch"})",
                  kNvlink + R"(, {"from": "gpu", "to": "nic"},
                                   {"from": "nic", "to": "s", "bytes_per_s": 5, "count": 2, "latency_s": 1e-6})"),
          4)
          .load(3);
  const NetworkDesign& design = *cluster.design;
  CHECK(design.vertices[2].count == 4);
  CHECK(design.vertices[3].count == 1);
  CHECK(design.vertices[3].every_nodes == 0);
  CHECK(design.links[1].cables == 1);
  CHECK_FALSE(design.links[1].bytes_per_s.has_value());
  CHECK(design.links[1].latency_s == 0);
  CHECK(network_rates(cluster).nic_bytes_per_s() == 10);
  CHECK(network_rates(cluster).latency_s == 2e-6);
}

TEST_CASE("mistakes in a network's file all come at once, with their places") {
  const ClusterWithNetwork cluster(R"("./n.json")");
  cluster.write("n.json", R"({"format": 2, "name": "", "vertices": [
      {"name": "gpu", "kind": "gpus"}, {"name": "nic", "kind": "nic", "count": 0, "every_nodes": 2},
      {"name": "leaf", "kind": "switch", "every_nodes": 0}], "links": [
      {"from": "gpu", "to": "nics", "bytes_per_s": 0}, {"to": "gpu", "wiring": "ring", "bytes_per_s": "PCIe"},
      {"from": "gpu", "to": "nic", "count": 0, "latency_s": -1, "rate": 1}]})");
  Messages expected;
  for (const char* message :
       {"/format: expected 1, got 2 (number)",
        "/name: expected string of at least one character, got \"\" (string)",
        "/source: expected string of at least one character, got nothing",
        "/vertices/0/kind: expected one of gpu, nvswitch, pcie, nic, switch (did you mean gpu?), got "
        "\"gpus\" (string)",
        "/vertices/1/count: expected integer in 1..4096, got 0 (number)",
        "/vertices/2/every_nodes: expected integer in 1..65536, got 0 (number)",
        "/links/0/to: expected one of gpu, nic, leaf (did you mean nic?), got \"nics\" (string)",
        "/links/0/bytes_per_s: expected a number over 0, nvlink or pcie, got 0 (number)",
        "/links/1/from: expected one of gpu, nic, leaf, got nothing",
        "/links/1/wiring: expected one of even, all, got \"ring\" (string)",
        "/links/1/bytes_per_s: expected a number over 0, nvlink or pcie, got \"PCIe\" (string)",
        "/links/2/count: expected integer in 1..4096, got 0 (number)",
        "/links/2/latency_s: expected number >= 0, got -1 (number)",
        "/links/2/rate: expected no such key (known: from, to, wiring, count, bytes_per_s, latency_s), "
        "got 1 (number)",
        "/vertices/1/every_nodes: expected no such key for vertices of kind nic "
        "(known: name, kind, count), got 2 (number)"})
    expected.push_back("./n.json: " + std::string(message));
  CHECK(cluster.mistakes() == expected);
}

TEST_CASE("a network that does not fit the cluster is refused") {
  const std::string shipped = kData.root + "/models/networks/";
  CHECK(ClusterWithNetwork(R"("rail-optimised")", 4).mistakes() ==
        Messages{shipped + "rail-optimised.json: /vertices/0/count: expected 4, the GPUs of a node of the "
                           "cluster, got 8"});
  const Messages unknown = ClusterWithNetwork(R"("rails")").mistakes();
  REQUIRE(unknown.size() == 1);
  CHECK_THAT(unknown[0], Catch::StartsWith("c.json: /network: expected"));
  CHECK(ClusterWithNetwork(R"("ethernet")", 8, "l40s-48gb").mistakes() ==
        Messages{shipped +
                 "ethernet.json: /links/0/bytes_per_s: expected a number over 0, as the file of the GPU "
                 "NVIDIA L40S has no rate of nvlink, got \"nvlink\" (string)"});
}

TEST_CASE("vertices without links and GPUs without a path are refused") {
  CHECK(
      ClusterWithNetwork(network(kNode + R"(, {"name": "nic", "kind": "nic"})", kNvlink)).mistakes() ==
      Messages{
          "c.json: /network/vertices/2/name: expected vertices at an end of a link, got nic without links"});
  CHECK(
      ClusterWithNetwork(network(kGpu + R"({"name": "bridge", "kind": "nvswitch", "count": 4})",
                                 R"({"from": "gpu", "to": "bridge", "bytes_per_s": 1})"))
          .mistakes() ==
      Messages{"c.json: /network: expected a network with a path of at most 32 links from every GPU to every "
               "other, got cluster c: no path from node 0 gpu 0 to node 0 gpu 2"});
}

TEST_CASE(
    "a scenario may give its cluster another network, by name or path, and every node then has a path") {
  const TempFolder folder;
  const auto load = [&](const std::string& network) {
    std::string text = scenario_text(R"({"strategy": "isf", "capacity_tokens": 131072, "sp_degree": 8})");
    text.replace(text.find(R"("nodes": 4)"), 10, R"("nodes": 4, "network": ")" + network + '"');
    folder.write("lengths.csv", "length_tokens\n100\n");
    return load_scenario(folder.write("s.json", text), kData);
  };
  CHECK(load("ethernet").cluster.design->name == "ethernet");
  folder.write(
      "islands.json",
      network(
          kNode + R"(, {"name": "nic", "kind": "nic"},
                                    {"name": "leaf", "kind": "switch", "every_nodes": 2})",
          kNvlink + R"(, {"from": "gpu", "to": "nic"}, {"from": "nic", "to": "leaf", "bytes_per_s": 1})"));
  const Messages islands = messages_of([&] { load("./islands.json"); });
  REQUIRE(islands.size() == 1);
  CHECK_THAT(islands[0],
             Catch::EndsWith("s.json: /cluster/network: expected a network with a path of at most 32 links "
                             "from every GPU to every other, got cluster h100-sxm-80gb: no path from "
                             "node 0 gpu 0 to node 2 gpu 0"));
  const Messages unknown = messages_of([&] { load("token-ring"); });
  REQUIRE(unknown.size() == 1);
  CHECK_THAT(unknown[0], Catch::Contains("/cluster/network: expected"));
}

}  // namespace packsim
