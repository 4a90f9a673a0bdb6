#include "models/memory/peak_memory.hpp"

namespace packsim {

bool fits(const Cluster& cluster, const MemoryPeak& peak) {
  return peak.total_bytes() <= static_cast<double>(cluster.gpu.memory_bytes) &&
         (!cluster.host_memory_bytes || peak.host_bytes <= *cluster.host_memory_bytes);
}

std::optional<int> fewest_gc_layers(const Transformer& model, const Cluster& cluster,
                                    const ParallelPlan& plan, const MemoryAssumptions& assumptions,
                                    double tokens_per_gpu, int n_micro_batches) {
  ParallelPlan tried = plan;
  tried.gc_layers = 0;
  PlanMemory memory(model, cluster, tried, assumptions);
  for (int gc_layers = 0; gc_layers <= model.n_layers; ++gc_layers) {
    memory.set_gc_layers(gc_layers);
    if (fits(cluster, memory.peak(tokens_per_gpu, n_micro_batches))) return gc_layers;
  }
  return std::nullopt;
}

}  // namespace packsim
