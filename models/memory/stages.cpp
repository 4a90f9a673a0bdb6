#include "models/memory/stages.hpp"

#include <algorithm>

#include "models/pipeline_chunks.hpp"

namespace packsim {

std::vector<LayerChunk> stage_chunks(const Transformer& model, const ParallelPlan& plan, int stage) {
  const std::vector<PipelineChunk> all = pipeline_chunks(model, plan);
  std::vector<LayerChunk> chunks;
  for (std::size_t i = static_cast<std::size_t>(stage); i < all.size();
       i += static_cast<std::size_t>(plan.pp_degree)) {
    LayerChunk& chunk = chunks.emplace_back();
    const auto [first_change, second_change] = std::minmax(all[i].n_dense, all[i].n_checkpointed);
    int first = 0;
    for (const int end : {first_change, second_change, all[i].n_layers}) {
      if (end == first) continue;
      chunk.push_back({.kind = first < all[i].n_dense ? LayerKind::dense : LayerKind::expert,
                       .is_checkpointed = first < all[i].n_checkpointed,
                       .n_layers = end - first});
      first = end;
    }
  }
  return chunks;
}

double micro_batches_in_flight(const ParallelPlan& plan, int stage, int n_micro_batches) {
  const int chunks = plan.schedule().chunks_in_flight(plan.pipeline_shape(n_micro_batches), stage);
  return static_cast<double>(chunks) / plan.virtual_stages;
}

}  // namespace packsim
