#include "models/pipeline_chunks.hpp"

#include <algorithm>

namespace packsim {

std::vector<PipelineChunk> pipeline_chunks(const Transformer& model, const ParallelPlan& plan) {
  const int n_chunks = plan.n_chunks();
  const int n_dense = model.n_layers_of(LayerKind::dense);
  std::vector<PipelineChunk> chunks;
  int first_layer = 0;
  for (int i = 0; i < n_chunks; ++i) {
    const int n_layers = plan.chunk_layers.empty() ? model.n_layers / n_chunks
                                                   : plan.chunk_layers[static_cast<std::size_t>(i)];
    chunks.push_back({.first_layer = first_layer,
                      .n_layers = n_layers,
                      .n_dense = std::clamp(n_dense - first_layer, 0, n_layers)});
    first_layer += n_layers;
  }
  for (int left = std::min(plan.gc_layers, first_layer); left > 0;) {
    for (PipelineChunk& chunk : chunks) {
      if (chunk.n_checkpointed == chunk.n_layers) continue;
      ++chunk.n_checkpointed;
      --left;
    }
  }
  return chunks;
}

int checkpointed_layers(const Transformer& model, const ParallelPlan& plan) {
  int n_checkpointed = 0;
  for (const PipelineChunk& chunk : pipeline_chunks(model, plan)) n_checkpointed += chunk.n_checkpointed;
  return n_checkpointed;
}

}  // namespace packsim
