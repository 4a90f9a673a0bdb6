#pragma once

#include <vector>

#include "models/parallel_plan.hpp"
#include "models/transformer.hpp"

namespace packsim {

/// Layers that follow each other in the model and are on one pipeline stage.
struct PipelineChunk {
  int first_layer = 0;  ///< of the model's
  int n_layers = 0;
  int n_dense = 0;         ///< the first ones
  int n_checkpointed = 0;  ///< its first layers, which the backward pass reaches last
};

/// All chunks of a plan, in the order in which a micro-batch goes through them. Chunk i is of stage i mod
/// pp_degree.
///
/// All chunks checkpoint the same number of layers: the smallest with which there are at least gc_layers in
/// all. A chunk that has fewer layers checkpoints all of them.
std::vector<PipelineChunk> pipeline_chunks(const Transformer& model, const ParallelPlan& plan);

}  // namespace packsim
