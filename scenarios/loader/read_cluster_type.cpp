#include "scenarios/loader/readers.hpp"

namespace packsim {

Cluster read_cluster_type(JsonReader reader) {
  constexpr int kMostGpusPerNode = 1024;
  constexpr std::int64_t kMostMemoryBytes = std::int64_t{1} << 50;
  reader.integer("format", 1, 1);
  return {.name = reader.string("name"),
          .source = reader.string("source"),
          .gpu = reader.string("gpu"),
          .gpus_per_node = reader.integer("gpus_per_node", 1, kMostGpusPerNode),
          .gpu_memory_bytes = reader.integer("gpu_memory_bytes", 1, kMostMemoryBytes)};
}

}  // namespace packsim
