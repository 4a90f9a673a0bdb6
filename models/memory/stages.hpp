#pragma once

#include <vector>

#include "models/parallel_plan.hpp"
#include "models/transformer.hpp"

namespace packsim {

struct StageLayer {
  LayerKind kind = LayerKind::dense;
  bool is_checkpointed = false;
};

/// Layers that follow each other in the model, from the first to the last; perhaps none.
using LayerChunk = std::vector<StageLayer>;

/// The plan.virtual_stages chunks of a pipeline stage (pipeline_chunks.hpp).
std::vector<LayerChunk> stage_chunks(const Transformer& model, const ParallelPlan& plan, int stage);

/// Micro-batches of which a stage holds all activations when it starts a backward pass; of some chunks only
/// when stages are interleaved, which makes it a fraction.
///
/// 1F1B: pp - stage, no more than there are. Interleaved (Narayanan et al., arXiv 2104.04473, section 2.2),
/// in chunks: the forward passes of the warm-up, 2 (pp - stage - 1) + (virtual_stages - 1) pp, and one more.
/// For the first stage that makes L (1 + (pp - 1) / (pp virtual_stages)) layers, as Korthikanti et al. have
/// it (arXiv 2205.05198, section 4.2.3).
double micro_batches_in_flight(const ParallelPlan& plan, int stage, int n_micro_batches);

}  // namespace packsim
