#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/loader/limits.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

constexpr std::int64_t kLeastMemory_bytes = 1'000'000'000;
constexpr std::int64_t kMostMemory_bytes = 1'000'000'000'000'000;
constexpr std::string_view kOfNetworkInNumbers =
    "no such key, as the cluster's network is not given in numbers";

// Rates and cards of a network that is a graph, or that is not stated, cannot be replaced one by one.
bool has_network_key(JsonReader& reader, std::string_view key, bool type_is_read, const Cluster& cluster) {
  if (!reader.has(key)) return false;
  if (!type_is_read) return true;
  if (!cluster.design && cluster.network.nics_per_node > 0) return true;
  reader.refuse(key, std::string(kOfNetworkInNumbers));
  return false;
}

}  // namespace

void read_cluster_changes(JsonReader& reader, bool type_is_read, Cluster& cluster) {
  for (const std::string_view key :
       {"gpus_per_node", "gpu_memory_bytes", "nvlink_bytes_per_s", "nics_per_node", "nic_bytes_per_s"})
    reader.value(key);  // which makes it a known key
  const std::size_t before = reader.n_problems();
  std::vector<std::string> changes;
  const auto changed = [&](std::string_view key, double value) {
    changes.push_back(fmt::format("{} {:g}", key, value));
  };
  if (reader.has("gpus_per_node")) {
    cluster.gpus_per_node = reader.integer("gpus_per_node", 1, kMostGpusPerNode);
    changed("gpus_per_node", cluster.gpus_per_node);
  }
  if (reader.has("gpu_memory_bytes")) {
    cluster.gpu.memory_bytes = static_cast<std::int64_t>(
        reader.number("gpu_memory_bytes", kLeastMemory_bytes, static_cast<double>(kMostMemory_bytes)));
    changed("gpu_memory_bytes", static_cast<double>(cluster.gpu.memory_bytes));
  }
  if (has_network_key(reader, "nvlink_bytes_per_s", type_is_read, cluster)) {
    cluster.network.nvlink_bytes_per_s = reader.positive("nvlink_bytes_per_s");
    changed("nvlink_bytes_per_s", cluster.network.nvlink_bytes_per_s);
  }
  if (has_network_key(reader, "nics_per_node", type_is_read, cluster)) {
    cluster.network.nics_per_node = reader.integer("nics_per_node", 1, kMostGpusPerNode);
    changed("nics_per_node", cluster.network.nics_per_node);
  }
  if (has_network_key(reader, "nic_bytes_per_s", type_is_read, cluster)) {
    cluster.network.nic_bytes_per_s = reader.positive("nic_bytes_per_s");
    changed("nic_bytes_per_s", cluster.network.nic_bytes_per_s);
  }
  const int nics = cluster.network.nics_per_node;
  const int gpus = cluster.gpus_per_node;
  if (type_is_read && reader.n_problems() == before && !changes.empty() && nics > 0 && gpus % nics != 0 &&
      nics % gpus != 0) {
    reader.refuse(reader.has("nics_per_node") ? "nics_per_node" : "gpus_per_node",
                  fmt::format("network cards and GPUs of a node of which one number divides the other"),
                  fmt::format("{} cards for {} GPUs", nics, gpus));
  }
  if (!changes.empty()) cluster.name += fmt::format(" with {}", fmt::join(changes, ", "));
}

}  // namespace packsim
