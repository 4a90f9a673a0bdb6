#include <fmt/format.h>

#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

constexpr int kMostGpusPerNode = 1024;

double number_or(JsonReader& reader, std::string_view key, double low, double fallback) {
  return reader.value(key) == nullptr ? fallback : reader.number(key, low);
}

// Not stated: a network without rates, in which nothing contends.
Network read_network(JsonReader reader, int gpus_per_node) {
  constexpr int kMostNodesPerLeaf = 65'536;
  if (reader.silent()) return {};
  const Network defaults;
  const std::size_t before = reader.n_problems();
  Network network{
      .nvlink_bytes_per_s = reader.positive("nvlink_bytes_per_s"),
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

}  // namespace

Cluster read_cluster_type(JsonReader reader) {
  constexpr std::int64_t kMostMemoryBytes = std::int64_t{1} << 50;
  reader.integer("format", 1, 1);
  Cluster cluster{.name = reader.string("name"),
                  .source = reader.string("source"),
                  .gpu = reader.string("gpu"),
                  .gpus_per_node = reader.integer("gpus_per_node", 1, kMostGpusPerNode),
                  .gpu_memory_bytes = reader.integer("gpu_memory_bytes", 1, kMostMemoryBytes)};
  cluster.network = read_network(reader.optional_object("network"), cluster.gpus_per_node);
  cluster.gpu_peak_flop_per_s = reader.optional_positive("gpu_peak_flop_per_s");
  cluster.gpu_memory_bytes_per_s = reader.optional_positive("gpu_memory_bytes_per_s");
  cluster.gpu_power_w = reader.optional_positive("gpu_power_w");
  cluster.host_memory_bytes = reader.optional_positive("host_memory_bytes");
  cluster.host_link_bytes_per_s = reader.optional_positive("host_link_bytes_per_s");
  return cluster;
}

}  // namespace packsim
