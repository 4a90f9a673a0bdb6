#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "scenarios/loader/limits.hpp"
#include "scenarios/loader/read_network.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

double number_or(JsonReader& reader, std::string_view key, double low, double fallback) {
  return reader.value(key) == nullptr ? fallback : reader.number(key, low);
}

// The links of the GPU itself, unless the file says what a node has. A GPU that was not read may have some.
double read_nvlink(JsonReader& reader, const std::optional<Gpu>& gpu) {
  constexpr std::string_view kKey = "nvlink_bytes_per_s";
  const double of_gpu = gpu ? gpu->nvlink_bytes_per_s.value_or(0) : 0;
  if (!gpu || of_gpu > 0) return reader.optional_positive(kKey).value_or(of_gpu);
  return reader.positive(kKey);
}

std::optional<Gpu> read_gpu_file(JsonReader& reader, const DataPaths& data, Problems& problems) {
  const std::string name = reader.file_name("gpu", kGpuFiles);
  if (name.empty()) return std::nullopt;
  const std::string folder = std::filesystem::path(reader.file()).parent_path().string();
  const FoundFile file = find_named_file(kGpuFiles, name, folder, data);
  if (!file.found()) {
    reader.refuse("gpu", file.expected, file.got);
    return std::nullopt;
  }
  const JsonDocument document = read_json(file.path, problems);
  return read_gpu(JsonReader(document, problems));
}

// If it is not stated, the network has no rates, and nothing contends.
Network read_network(JsonReader reader, int gpus_per_node, const std::optional<Gpu>& gpu) {
  constexpr int kMostNodesPerLeaf = 65'536;
  if (reader.silent()) return {};
  const Network defaults;
  const std::size_t before = reader.n_problems();
  Network network{
      .nvlink_bytes_per_s = read_nvlink(reader, gpu),
      .nics_per_node = reader.integer("nics_per_node", 1, kMostGpusPerNode),
      .nic_bytes_per_s = reader.positive("nic_bytes_per_s"),
      .latency_s = number_or(reader, "latency_s", 0, defaults.latency_s),
      .rails = reader.boolean("rails", defaults.rails),
      .nodes_per_leaf = reader.integer("nodes_per_leaf", 0, kMostNodesPerLeaf, defaults.nodes_per_leaf),
      .oversubscription = number_or(reader, "oversubscription", 1, defaults.oversubscription),
      .source = reader.string("source")};
  const int nics = network.nics_per_node;
  if (reader.n_problems() == before && gpus_per_node % nics != 0 && nics % gpus_per_node != 0) {
    reader.refuse("nics_per_node",
                  fmt::format("a divisor or a multiple of the {} gpus_per_node", gpus_per_node));
  }
  return network;
}

// Reads the network: as numbers, as a graph, or from the file with a graph that it names.
void read_network_member(JsonReader& reader, const std::optional<Gpu>& gpu, const DataPaths& data,
                         Problems& problems, Cluster& cluster) {
  const std::size_t before = reader.n_problems();
  if (reader.is_file_name("network", kNetworkFiles)) {
    const std::string folder = std::filesystem::path(reader.file()).parent_path().string();
    cluster.design = read_named_network(reader, folder, &cluster, data, problems);
  } else {
    JsonReader network = reader.optional_object("network");
    const bool is_graph = network.has("vertices");
    network.describe_as({.text = is_graph ? "a network with vertices" : "a network without vertices",
                         .key = "vertices",
                         .has_key = is_graph});
    if (is_graph) {
      cluster.design = read_network_design(std::move(network), cluster.gpu, cluster.gpus_per_node);
    } else {
      cluster.network = read_network(std::move(network), cluster.gpus_per_node, gpu);
    }
  }
  if (cluster.design && reader.n_problems() == before) check_network_paths(reader, "network", cluster);
}

}  // namespace

Cluster read_cluster_type(JsonReader reader, const DataPaths& data, Problems& problems) {
  reader.integer("format", 1, 1);
  reader.string("$schema", "");  // for editors
  Cluster cluster;
  cluster.name = reader.string("name");
  cluster.source = reader.string("source");
  const std::optional<Gpu> gpu = read_gpu_file(reader, data, problems);
  cluster.gpu = gpu.value_or(Gpu{});
  cluster.gpus_per_node = reader.integer("gpus_per_node", 1, kMostGpusPerNode);
  read_network_member(reader, gpu, data, problems, cluster);
  cluster.host_memory_bytes = reader.optional_positive("host_memory_bytes");
  cluster.host_memory_bytes_per_s = reader.optional_positive("host_memory_bytes_per_s");
  cluster.host_link_bytes_per_s = reader.optional_positive("host_link_bytes_per_s");
  if (!cluster.host_link_bytes_per_s) cluster.host_link_bytes_per_s = cluster.gpu.pcie_bytes_per_s;
  return cluster;
}

}  // namespace packsim
