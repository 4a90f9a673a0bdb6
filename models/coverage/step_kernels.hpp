#pragma once

#include <cstdint>
#include <vector>

#include "models/coverage/kernel_uses.hpp"
#include "models/execution_style.hpp"
#include "models/transformer.hpp"
#include "packing/sequence_parallelism.hpp"

namespace packsim {

/// One optimizer step on a grid of data-parallel and Ulysses GPUs; every GPU does the same.
struct StepPlan {
  Transformer model;
  int n_layers = 0;                   ///< number of the model's layers that run; 0: all
  int gc_layers = 0;                  ///< number of checkpointed layers
  SequenceParallelism sequence = {};  ///< only Ulysses
  int dp_degree = 1;                  ///< data-parallel ranks
  /// States are sharded over all sequence.gpus_per_pack() x dp_degree GPUs.
  int zero_stage = 1;
  int gpus_per_node = 8;
  ExecutionStyle execution;
  std::vector<Documents> micro_batches;  ///< the packs of one data-parallel rank, trained one after another
};

/// How the steps of calibration/steps are run (see its README.md): bf16 gradients are reduced in buckets of
/// 2^25 elements while the backward pass fills them, and activation checkpoints are not reentrant.
inline constexpr ExecutionStyle kMeasuredStepExecution = {.launch_s = kTorchLaunch_s,
                                                          .kernels = &kFusedKernels,
                                                          .loss = &kInPlaceLoss,
                                                          .bucket_elements = std::int64_t{1} << 25,
                                                          .overlaps_states = true,
                                                          .recompute_stops_early = true,
                                                          .plain_gradients = true};

/// The plan of a case "step model=... packs=...", as calibration/steps runs it.
StepPlan step_plan(const KernelCase& step, const Transformer& model, int gpus_per_node);

/// The kernels of one step on one GPU, in bf16.
///
/// With a micro-batch of S tokens, a GPU runs the linear and elementwise kernels on ceil(S / sp) tokens, and
/// attention over whole documents with 1/sp of the heads. The kernels of a layer, the embedding and the head,
/// forward and backward, are listed in models/layers/layer_ops.hpp; every GPU holds all experts. The first
/// gc_layers layers are checkpointed: their forward pass runs once more ("recompute"), including its
/// all-to-alls. Attention kernels have no window. A layer with a window counts as the share of attention over
/// whole documents that the window leaves, averaged over the layers of the model.
///
/// Gradients of the second and later micro-batches of a step are added to those of earlier ones, as PyTorch's
/// autograd does it: one more elementwise kernel for each weight matrix, which reads both and writes their
/// sum. Megatron adds them in the matrix product that makes them, and has no such kernel. Under ZeRO 2 and 3
/// a GPU adds only its shard.
///
/// Weights and gradients are in bf16 and travel among G = sp x dp GPUs:
///   ZeRO 0  all-reduce of the gradients once a step
///   ZeRO 1  reduce-scatter of the gradients and all-gather of the weights once a step
///   ZeRO 2  reduce-scatter in every micro-batch, all-gather once a step
///   ZeRO 3  all-gather in every forward and again in every backward pass, reduce-scatter in every
///           micro-batch, both layer by layer
/// AdamW then updates the GPU's shard. The entry for launch_gap is a part of its own and counts all other
/// kernels.
///
/// The following have no kernel here: bias gradients, sums of the gradients of repeated key-value heads, norm
/// clipping, gradients in fp32, and the choice and weighing of experts.
///
/// Throws std::invalid_argument that lists every mistake: counts out of range, and degrees that do not divide
/// the heads.
std::vector<KernelUse> step_kernels(const StepPlan& plan);

}  // namespace packsim
