#pragma once

#include "models/parallel_plan.hpp"
#include "models/transformer.hpp"

namespace packsim {

/// Weights of one GPU, in elements, before ZeRO shards them.
struct GpuWeights {
  double dense = 0;    ///< plan.state_gpus() GPUs hold the same
  double experts = 0;  ///< expert_state_gpus() GPUs hold the same

  GpuWeights& operator+=(const GpuWeights& other) {
    dense += other.dense;
    experts += other.experts;
    return *this;
  }
  double total() const { return dense + experts; }
};

/// The elements of weights that a GPU has: its shards, if its shard group shards them.
double elements_of_gpu(const ParallelPlan& plan, const GpuWeights& weights, bool is_sharded);
/// Size of a gradient of a plan as it is kept.
double gradient_element_bytes(const ParallelPlan& plan);
/// Size of a gradient as it is sent. FSDP's mixed precision sends gradients of fp32 weights in bf16.
double sent_gradient_bytes(const ParallelPlan& plan);

/// GPUs that hold the same routed experts, or the same part of each. Where tensor parallelism does not split
/// them, each GPU of a tensor-parallel group has whole ones, for its own part of the sequence.
int expert_state_gpus(const ParallelPlan& plan);
/// The same in a shard group.
int expert_shard_gpus(const ParallelPlan& plan);

/// Weights of one layer, without adapters. Tensor parallelism splits matrices by heads and by MLP columns;
/// key-value heads are copied where there are too few of them. What linear_layers() calls replicated, norms
/// and biases are on every GPU. kind: one that the model has.
GpuWeights layer_weights(const Transformer& model, const ParallelPlan& plan, LayerKind kind);

/// The same without norms and biases.
GpuWeights layer_matrices(const Transformer& model, const ParallelPlan& plan, LayerKind kind);
/// The elements of the GPU's part of the layer's largest matrix.
double largest_matrix(const Transformer& model, const ParallelPlan& plan, LayerKind kind);

/// LoRA's two matrices beside each matrix of a layer that plan.lora_targets names (arXiv 2106.09685):
/// lora_rank x (in + out), where in and out are of the GPU's shard.
GpuWeights layer_adapters(const Transformer& model, const ParallelPlan& plan, LayerKind kind);

/// The embedding of one GPU, or its output head: both are split by vocabulary.
double vocabulary_weights(const Transformer& model, const ParallelPlan& plan);

/// Weights of a pipeline stage's layers. The first stage has the embedding as well, the last one the head and
/// the norm before it. A tied head is a second copy where it is not on the embedding's stage.
GpuWeights stage_weights(const Transformer& model, const ParallelPlan& plan, int stage);
/// The matrices of the stage's layers alone.
GpuWeights stage_matrices(const Transformer& model, const ParallelPlan& plan, int stage);
GpuWeights stage_adapters(const Transformer& model, const ParallelPlan& plan, int stage);

}  // namespace packsim
