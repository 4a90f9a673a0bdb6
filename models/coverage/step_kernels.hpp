#pragma once

#include <cstdint>
#include <vector>

#include "models/coverage/kernel_uses.hpp"
#include "models/execution_style.hpp"
#include "models/transformer.hpp"
#include "packing/sequence_parallelism.hpp"

namespace packsim {

/// One optimizer step as every GPU of a data-parallel x Ulysses grid runs it.
struct StepPlan {
  Transformer model;
  int n_layers = 0;                   ///< how many of the model's layers are run; 0: all
  int gc_layers = 0;                  ///< checkpointed
  SequenceParallelism sequence = {};  ///< Ulysses alone
  int dp_degree = 1;                  ///< data-parallel ranks
  int zero_stage = 1;                 ///< states are sharded over all sequence x dp_degree GPUs
  int gpus_per_node = 8;
  ExecutionStyle execution;
  std::vector<Documents> micro_batches;  ///< packs of one data-parallel rank, one after another
};

/// How the steps of calibration/steps run (its README.md): bf16 gradients in buckets of 2^25 elements, sent
/// as the backward pass fills them, and checkpoints that are not reentrant.
inline constexpr ExecutionStyle kMeasuredStepExecution = {
    .bucket_elements = std::int64_t{1} << 25, .overlaps_states = true, .recompute_stops_early = true};

/// The plan of a case "step model=... packs=..." as calibration/steps runs it.
StepPlan step_plan(const KernelCase& step, const Transformer& model, int gpus_per_node);

/// The kernels of one step on one GPU, in bf16.
///
/// A micro-batch of S tokens leaves a GPU ceil(S / sp) tokens of the linear and elementwise kernels, and
/// 1/sp of the heads of the attention over whole documents. What a layer, the embedding and the head run, and
/// what that takes backward, is listed in models/layers/layer_ops.hpp; every GPU holds all experts. The first
/// gc_layers layers are checkpointed and run forward once more ("recompute"), their all-to-alls included.
/// Attention kernels have no window: a windowed layer counts as the share of whole documents that its window
/// leaves, in the mean layer of the model.
///
/// Gradients of a step's micro-batches after the first are added to those before, as PyTorch's autograd does
/// it: one more elementwise kernel for each weight matrix, which reads both and writes their sum. Megatron
/// adds them in the product that makes them, and has no such kernel. ZeRO 2 and 3 add the GPU's share.
///
/// States, with G = sp x dp GPUs, weights and gradients in bf16:
///   ZeRO 0  all-reduce of the gradients a step
///   ZeRO 1  reduce-scatter of the gradients and all-gather of the weights a step
///   ZeRO 2  reduce-scatter a micro-batch, all-gather a step
///   ZeRO 3  all-gather forward and again backward, reduce-scatter a micro-batch, layer by layer
/// and AdamW on the GPU's share. The share of launch_gap, in a part of its own, counts all other kernels.
///
/// Not there, as no kernel stands for them: bias gradients, sums of the gradients of repeated key-value
/// heads, norm clipping, gradients in fp32, the choice and the weighing of experts.
///
/// Throws std::invalid_argument with every mistake: counts out of range, degrees that do not divide the
/// heads.
std::vector<KernelUse> step_kernels(const StepPlan& plan);

// What step_kernels() is the sum of, each `count` times. Plans have been checked by check_step_plan(), which
// throws what step_kernels() throws; micro_batches is not read.

void check_step_plan(const StepPlan& plan);
/// All of a micro-batch but its attention.
void add_micro_batch(KernelUses& uses, const StepPlan& plan, std::int64_t tokens_per_gpu, double count);
void add_attention(KernelUses& uses, const StepPlan& plan, const Documents& documents, double count);
/// A micro-batch's gradients added to those of earlier ones of the step.
void add_gradient_sums(KernelUses& uses, const StepPlan& plan, double count);
/// What comes once a step: the optimizer and the collectives of the step.
void add_step_end(KernelUses& uses, const StepPlan& plan, double count);
/// As many launch gaps as there are kernels.
void add_launch_gaps(KernelUses& uses);

}  // namespace packsim
