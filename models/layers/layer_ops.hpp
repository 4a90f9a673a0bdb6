#pragma once

#include <vector>

#include "models/layers/layer_op.hpp"

namespace packsim {

/// The forward pass of one layer on one GPU, in order. tokens: those of one micro-batch that the GPU holds
/// between the blocks, 1 / plan.sequence_gpus() of its pack.
///
///   rms_norm, queries, keys, values, rope, exchange, attention, exchange, o, residual_add,
///   rms_norm, MLP or experts, residual_add
///
/// Grouped-query attention: q, k, v. Latent attention: q_a, rms_norm, q_b, kv_a, rms_norm, kv_b. With fused
/// projections qkv, and in the MLP gate_up, which eager code cuts into slices.
/// Ulysses: all-to-alls of q, k, v before attention and of its output after it, each with one copy that
/// reorders heads and tokens; where there are more GPUs than key-value heads that copy repeats heads. With
/// latent_exchange the latents are gathered instead of keys and values sent.
/// Tensor parallelism: all-gather of the block's input and reduce-scatter of its output along the sequence,
/// widths divided; Megatron's second all-gather in the backward pass hides behind a product and is not there.
/// Experts: router, copy and all-to-all of the tokens to the GPUs of their experts (balanced), gate, up,
/// swiglu, down of each expert that the GPU holds, and back; shared experts as an MLP.
/// Ring attention exchanges nothing here: its transfers go on beside attention. Layers with a sliding window,
/// which cannot do that, gather keys and values over the ring before attention, and once more before its
/// backward pass, which scatters their gradients (TransformerEngine's cp_comm_type "all_gather",
/// AttnFuncWithCPAndKVAllGather in its context_parallel.py). They are counted for the mean layer.
/// fp8: all products of layers but the router's and gates' run in fp8, with kernels that quantise their
/// inputs, the gradients of their outputs, and under ZeRO 3 without fp8_gather their weights.
/// LoRA: every linear layer is frozen, and those that lora_targets names have two products of the rank behind
/// them. Weights of 4 bits are made bf16 in each pass, by kernels that read the one and write the other.
std::vector<LayerOp> layer_forward(const Transformer& model, const ParallelPlan& plan, int gpus_per_node,
                                   LayerKind kind, std::int64_t tokens);

/// What a checkpointed layer runs once more before its backward pass: recomputed_parts() of it. Where
/// plan.execution.recompute_stops_early, a dense layer stops before its last product if it would recompute
/// that, which is the down projection or, under LoRA, its adapter's second product. With output_norms it
/// stops behind the norm of that product's output.
std::vector<LayerOp> layer_recompute(const Transformer& model, const ParallelPlan& plan, int gpus_per_node,
                                     LayerKind kind, std::int64_t tokens);
/// What a tiled MLP (ParallelPlan::mlp_tiles) computes once more in its backward pass, beside what a
/// checkpointed layer does. Empty if the layer has none.
std::vector<LayerOp> tiled_mlp_again(const Transformer& model, const ParallelPlan& plan, int gpus_per_node,
                                     LayerKind kind, std::int64_t tokens);

/// The embedding, before the first layer. With tensor parallelism every GPU looks up all tokens of its group
/// in its part of the vocabulary, and a reduce-scatter adds these up.
std::vector<LayerOp> embedding_forward(const Transformer& model, const ParallelPlan& plan, int gpus_per_node,
                                       std::int64_t tokens);
/// What follows the last layer: rms_norm, head, loss.
std::vector<LayerOp> head_forward(const Transformer& model, const ParallelPlan& plan, int gpus_per_node,
                                  std::int64_t tokens);

/// What attention kernels see on one GPU.
struct AttentionShape {
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;  ///< with latent attention the mean of key and value dimensions, for the same flop
  bool operator==(const AttentionShape&) const = default;
};
AttentionShape attention_shape(const Transformer& model, const ParallelPlan& plan);

/// The share of layers whose GPUs gather the keys and values of their packs: all of them, if the plan says
/// so; else those with a window. The others have a ring. 0 where GPUs share no documents but by Ulysses.
double gathering_layers(const Transformer& model, const ParallelPlan& plan);

/// Whether Ulysses sends the latents of latent attention instead of keys and values.
bool sends_latents(const Transformer& model, const ParallelPlan& plan);

}  // namespace packsim
