#pragma once

#include <vector>

#include "models/parallel_plan.hpp"
#include "models/transformer.hpp"

namespace packsim {

/// One or more layers of a kind that follow each other in the model, all checkpointed or none.
struct AlikeLayers {
  LayerKind kind = LayerKind::dense;
  bool is_checkpointed = false;
  int n_layers = 1;
};

/// Layers that follow each other in the model, from the first to the last; perhaps none.
using LayerChunk = std::vector<AlikeLayers>;

/// The plan.virtual_stages chunks of a pipeline stage (pipeline_chunks.hpp).
std::vector<LayerChunk> stage_chunks(const Transformer& model, const ParallelPlan& plan, int stage);

/// The most micro-batches of which a stage holds the activations at a time, as the plan's pipeline schedule
/// says. It is a fraction where the stage holds several chunks and some micro-batches have passed only a few
/// of them.
double micro_batches_in_flight(const ParallelPlan& plan, int stage, int n_micro_batches);

}  // namespace packsim
