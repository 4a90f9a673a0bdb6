#pragma once

#include <vector>

#include "models/parallel_plan.hpp"
#include "models/transformer.hpp"

namespace packsim {

/// Layers that follow each other in the model and are on one pipeline stage.
struct PipelineChunk {
  int first_layer = 0;  ///< index of its first layer in the model
  int n_layers = 0;
  int n_dense = 0;         ///< number of its dense layers, which come first
  int n_checkpointed = 0;  ///< number of its checkpointed layers, which are its first ones
};

/// All chunks of a plan, in the order in which a micro-batch goes through them. Chunk i is of stage i mod
/// pp_degree.
///
/// All chunks checkpoint the same number of layers: the smallest with which there are at least gc_layers in
/// all. A chunk that has fewer layers checkpoints all of them.
std::vector<PipelineChunk> pipeline_chunks(const Transformer& model, const ParallelPlan& plan);

/// The checkpointed layers of all chunks: plan.gc_layers or, as chunks checkpoint alike, a few more.
int checkpointed_layers(const Transformer& model, const ParallelPlan& plan);

}  // namespace packsim
