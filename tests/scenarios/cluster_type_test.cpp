#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "messages.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "temp_folder.hpp"
#include "tests/shipped_data.hpp"

namespace packsim {
namespace {

using Messages = std::vector<std::string>;

using packsim_test::kData;

const std::string kGpus =
    R"("format": 1, "name": "c", "source": "made up", "gpu": "h100-sxm-80gb", "gpus_per_node": 8)";
const std::string kNetwork = R"("source": "made up", "nvlink_bytes_per_s": 300e9, "nics_per_node": 4,
                               "nic_bytes_per_s": 25e9)";

class ClusterFile {
 public:
  explicit ClusterFile(const std::string& members)
      : path_(folder_.write("c.json", "{" + kGpus + members + "}")) {}

  Cluster load() const { return load_cluster_type(path_, kData); }
  /// Without the path that they all start with.
  Messages mistakes() const {
    Messages messages = messages_of([&] { load(); });
    for (std::string& message : messages) message = message.substr(path_.size() + 2);
    return messages;
  }

 private:
  TempFolder folder_;
  std::string path_;
};

}  // namespace

TEST_CASE("the shipped clusters have the makers' rates") {
  for (const char* name : {"h100-sxm-80gb", "h200-sxm-141gb"}) {
    const Cluster cluster = load_cluster_type(name, kData);
    // Per GPU and direction: 18 NVLinks of 25 GB/s; 400 Gb/s are 50 GB/s.
    CHECK(cluster.network.nvlink_bytes_per_s == 18 * 25e9);
    CHECK(cluster.network.nics_per_node == cluster.gpus_per_node);
    CHECK(cluster.network.nic_bytes_per_s == 400e9 / 8);
    CHECK(cluster.network.rails);
    CHECK(cluster.network.nodes_per_leaf == 32);
    CHECK(cluster.network.oversubscription == 1);
    CHECK_FALSE(cluster.network.source.empty());
    CHECK(cluster.host_memory_bytes == 2e12);
    CHECK(cluster.host_link_bytes_per_s == 64e9);
    CHECK(cluster.gpu.peak("bf16") == 989.4e12);
    CHECK(cluster.gpu.power_w == 700);
  }
  CHECK(load_cluster_type("h100-sxm-80gb", kData).gpu.memory_bytes_per_s == 3.35e12);
  CHECK(load_cluster_type("h200-sxm-141gb", kData).gpu.memory_bytes_per_s == 4.8e12);
}

TEST_CASE("without a network nothing about it is known") {
  const Cluster cluster = ClusterFile("").load();
  CHECK(cluster.gpus_per_node == 8);
  CHECK(cluster.network.nvlink_bytes_per_s == 0);
  CHECK(cluster.network.nics_per_node == 0);
  CHECK_FALSE(cluster.host_memory_bytes.has_value());
  CHECK(cluster.host_link_bytes_per_s == 64e9);  // of the GPU itself: PCIe
  CHECK_FALSE(cluster.gpu_hour_price.has_value());
}

TEST_CASE("a network has the defaults of a flat fabric") {
  const Cluster cluster = ClusterFile(R"(, "network": {)" + kNetwork + "}").load();
  CHECK(cluster.network.nvlink_bytes_per_s == 300e9);
  CHECK(cluster.network.nics_per_node == 4);
  CHECK(cluster.network.nic_bytes_per_s == 25e9);
  CHECK(cluster.network.latency_s == 0);
  CHECK_FALSE(cluster.network.rails);
  CHECK(cluster.network.nodes_per_leaf == 0);
  CHECK(cluster.network.oversubscription == 1);
}

TEST_CASE("a network says how its leaf switches are wired") {
  const Cluster cluster = ClusterFile(R"(, "network": {)" + kNetwork +
                                      R"(, "latency_s": 5e-6, "rails": true, "nodes_per_leaf": 16,
                                          "oversubscription": 2.5}, "host_memory_bytes": 1e12)")
                              .load();
  CHECK(cluster.network.latency_s == 5e-6);
  CHECK(cluster.network.rails);
  CHECK(cluster.network.nodes_per_leaf == 16);
  CHECK(cluster.network.oversubscription == 2.5);
  CHECK(cluster.host_memory_bytes == 1e12);
}

TEST_CASE("mistakes in a network all come at once") {
  CHECK(ClusterFile(R"(, "network": {"nvlink_bytes_per_s": 0, "nics_per_node": 0, "nic_bytes_per_s": "50",
                         "latency_s": -1, "rails": 1, "nodes_per_leaf": 65537, "oversubscription": 0.5,
                         "rail": true},
                       "host_memory_bytes": 0, "host_link_bytes_per_s": -1)")
            .mistakes() ==
        Messages{
            "/network/nvlink_bytes_per_s: expected number > 0, got 0 (number)",
            "/network/nics_per_node: expected integer in 1..1024, got 0 (number)",
            "/network/nic_bytes_per_s: expected number > 0, got \"50\" (string)",
            "/network/latency_s: expected number >= 0, got -1 (number)",
            "/network/rails: expected true or false, got 1 (number)",
            "/network/nodes_per_leaf: expected integer in 0..65536, got 65537 (number)",
            "/network/oversubscription: expected number >= 1, got 0.5 (number)",
            "/network/source: expected string of at least one character, got nothing",
            "/network/rail: expected no such key for a network without vertices (did you mean rails?), got "
            "true (boolean)",
            "/host_memory_bytes: expected number > 0, got 0 (number)",
            "/host_link_bytes_per_s: expected number > 0, got -1 (number)"});
  CHECK(ClusterFile(R"(, "gpu_power_w": 700)").mistakes().size() == 1);  // that is the GPU's file to say
  CHECK(ClusterFile(R"(, "network": {})").mistakes() ==
        Messages{"/network/nics_per_node: expected integer in 1..1024, got nothing",
                 "/network/nic_bytes_per_s: expected number > 0, got nothing",
                 "/network/source: expected string of at least one character, got nothing"});
  CHECK(ClusterFile(R"(, "network": 5)").mistakes() == Messages{"/network: expected object, got 5 (number)"});
}

TEST_CASE("mistakes in a GPU's file come with those of the cluster that names it") {
  const TempFolder folder;
  folder.write("g.json", R"({"format": 1, "name": "g", "source": "s", "driver_name": "Maker X",
    "peak_flop_per_s": {"bf16": -1, "fp12": 3}, "memory_bytes": 0, "n_sms": 1.5, "nvlink_bytes_per_s": -3})");
  const auto cluster = [&](const std::string& gpu) {
    return folder.write("c.json", R"({"format": 1, "name": "c", "source": "s", "gpu": ")" + gpu +
                                      R"(", "gpus_per_node": 0})");
  };
  std::vector<std::string> expected;
  for (const char* message :
       {"g.json: /peak_flop_per_s/bf16: expected number > 0, got -1 (number)",
        "g.json: /memory_bytes: expected integer in 1..1125899906842624, got 0 (number)",
        "g.json: /memory_bytes_per_s: expected number > 0, got nothing",
        "g.json: /n_sms: expected integer in 1..1048576, got 1.5 (number)",
        "g.json: /nvlink_bytes_per_s: expected number >= 0, got -3 (number)",
        "g.json: /peak_flop_per_s/fp12: expected no such key (did you mean fp16?), got 3 (number)",
        "c.json: /gpus_per_node: expected integer in 1..1024, got 0 (number)"})
    expected.emplace_back(message);
  const std::string path = cluster("./g.json");
  Messages messages = messages_of([&] { load_cluster_type(path, kData); });
  for (std::string& message : messages)
    message = message.substr(message.find_last_of('/', message.find(": ")) + 1);
  CHECK(messages == expected);
  const std::string unknown = cluster("h100");
  CHECK(messages_of([&] { load_cluster_type(unknown, kData); })
            .front()
            .find("/gpu: expected the name of a GPU (did you mean h100-nvl-94gb, h100-sxm-80gb or ") !=
        std::string::npos);
}

TEST_CASE("a GPU that is not found is one mistake: its NVLink is not missed, too") {
  const TempFolder folder;
  const std::string path =
      folder.write("c.json", R"({"format": 1, "name": "c", "source": "s", "gpu": "h100", "gpus_per_node": 8,
                    "network": {"source": "s", "nics_per_node": 8, "nic_bytes_per_s": 1}})");
  CHECK(messages_of([&] { load_cluster_type(path, kData); }).size() == 1);
}

TEST_CASE("NICs divide the GPUs, or are a multiple of them") {
  const auto nics = [](const std::string& n) {
    return ClusterFile(R"(, "network": {"source": "s", "nvlink_bytes_per_s": 1, "nic_bytes_per_s": 1,
                          "nics_per_node": )" +
                       n + "}")
        .mistakes();
  };
  for (const char* n : {"1", "2", "8", "16"}) CHECK(nics(n) == Messages{});
  const std::string expected =
      "/network/nics_per_node: expected a divisor or a multiple of the 8 gpus_per_node, got ";
  CHECK(nics("3") == Messages{expected + "3 (number)"});
  CHECK(nics("12") == Messages{expected + "12 (number)"});
}

}  // namespace packsim
