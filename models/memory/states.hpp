#pragma once

#include "models/parallel_plan.hpp"
#include "models/transformer.hpp"

namespace packsim {

/// Bytes that parameters take on one GPU while they are trained.
///
/// They are weights, gradients and the optimizer's states in the formats of the plan's optimizer: for AdamW
/// with bf16 weights 2 bytes, 2 (4 where the plan accumulates in fp32), and 12 of fp32 master weights and two
/// moments. Paged states are in the host's memory. With the optimizer in the backward pass the gradients of
/// one layer exist at a time. ZeRO (arXiv 1910.02054) shards optimizer states (stage 1), gradients as well
/// (2), weights too (3) over the GPUs of a shard group that hold the same weights. Under an fp8 precision the
/// matrices of layers are there in fp8 too, as they are and transposed (2 bytes), unless weights are sharded.
/// LoRA: the model's own weights are frozen and have neither gradients nor optimizer states; the adapters
/// have all three. Frozen matrices take what their format does.
struct StateBytes {
  double weights_bytes = 0;  ///< as the two below, 0 if they are offloaded
  double gradients_bytes = 0;
  double optimizer_bytes = 0;
  /// Offloaded: the fp32 states, and the fp32 gradients that the host's AdamW reads; 16 bytes a parameter of
  /// the GPU's shard, as DeepSpeed's estimate_zero2_model_states_mem_needs counts without its safety factor.
  /// Offloaded weights take 2 bytes more.
  double host_bytes = 0;
  /// The fp32 copy of the shard's bf16 gradients that DeepSpeed makes for the optimizer step. Plain gradients
  /// have none.
  double step_bytes = 0;

  double total_bytes() const { return weights_bytes + gradients_bytes + optimizer_bytes; }
};

/// States of a GPU of the pipeline stage, between the passes of one step and those of the next.
StateBytes stage_states(const Transformer& model, const ParallelPlan& plan, int stage);

/// Parameters of the stage's GPU that are trained.
double trained_elements(const Transformer& model, const ParallelPlan& plan, int stage);

}  // namespace packsim
