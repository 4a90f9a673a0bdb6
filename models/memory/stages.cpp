#include "models/memory/stages.hpp"

#include <algorithm>

namespace packsim {

std::vector<LayerChunk> stage_chunks(const Transformer& model, const ParallelPlan& plan, int stage) {
  const int n_chunks = plan.pp_degree * plan.virtual_stages;
  const int n_layers = model.n_layers / n_chunks;
  const int n_checkpointed = (plan.gc_layers + n_chunks - 1) / n_chunks;
  const int n_dense = model.n_layers_of(LayerKind::dense);
  std::vector<LayerChunk> chunks;
  for (int i = stage; i < n_chunks; i += plan.pp_degree) {
    LayerChunk& chunk = chunks.emplace_back();
    for (int j = 0; j < n_layers; ++j) {
      chunk.push_back({.kind = i * n_layers + j < n_dense ? LayerKind::dense : LayerKind::expert,
                       .is_checkpointed = j < n_checkpointed});
    }
  }
  return chunks;
}

double micro_batches_in_flight(const ParallelPlan& plan, int stage, int n_micro_batches) {
  const int behind = plan.pp_degree - stage - 1;
  const int v = plan.virtual_stages;
  const int chunks = v == 1 ? behind + 1 : 2 * behind + (v - 1) * plan.pp_degree + 1;
  return static_cast<double>(std::min(chunks, n_micro_batches * v)) / v;
}

}  // namespace packsim
