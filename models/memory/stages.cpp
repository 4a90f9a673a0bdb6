#include "models/memory/stages.hpp"

#include "models/pipeline_chunks.hpp"

namespace packsim {

std::vector<LayerChunk> stage_chunks(const Transformer& model, const ParallelPlan& plan, int stage) {
  const std::vector<PipelineChunk> all = pipeline_chunks(model, plan);
  std::vector<LayerChunk> chunks;
  for (std::size_t i = static_cast<std::size_t>(stage); i < all.size();
       i += static_cast<std::size_t>(plan.pp_degree)) {
    LayerChunk& chunk = chunks.emplace_back();
    for (int j = 0; j < all[i].n_layers; ++j) {
      chunk.push_back({.kind = j < all[i].n_dense ? LayerKind::dense : LayerKind::expert,
                       .is_checkpointed = j < all[i].n_checkpointed});
    }
  }
  return chunks;
}

double micro_batches_in_flight(const ParallelPlan& plan, int stage, int n_micro_batches) {
  const int chunks = plan.schedule().chunks_in_flight(plan.pipeline_shape(n_micro_batches), stage);
  return static_cast<double>(chunks) / plan.virtual_stages;
}

}  // namespace packsim
