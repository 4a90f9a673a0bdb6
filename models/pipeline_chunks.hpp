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
  int n_checkpointed = 0;  ///< the first ones: the backward pass comes to them when the others are done with
};

/// All chunks of a plan, in the order in which a micro-batch goes through them. Chunk i is of stage i mod
/// pp_degree.
///
/// Every chunk checkpoints as many of its layers, the fewest that make gc_layers in all; a chunk with fewer
/// layers checkpoints all of them.
std::vector<PipelineChunk> pipeline_chunks(const Transformer& model, const ParallelPlan& plan);

}  // namespace packsim
