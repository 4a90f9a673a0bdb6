#pragma once

#include "models/parallel_plan.hpp"
#include "models/transformer.hpp"

namespace packsim {

/// Memory of one layer on one GPU, in bytes for each token that the GPU has between the blocks (1 /
/// sequence_gpus() of its micro-batch). Tensors are in bf16, and flash attention keeps no scores.
///
/// What counts are the tensors that autograd keeps in a layer, of norms and activations as the plan's kernel
/// style says. Under tensor parallelism with activations sharded along the sequence, widths inside the blocks
/// are divided by tp while tokens are multiplied by tp, so the bytes stay the same. There are two exceptions:
/// key-value heads, which are copied if tp x sp exceeds their number, and latents, which every GPU makes of
/// all tokens.
///   norm             what the style says, and 2 bytes of its output for each value if a product reads it
///   attention        rotated queries and keys, values, the kernel's output, that output once more after the
///                    all-to-all of Ulysses, and 4 bytes for each head
///   latent attention in addition the latents and the tensors of their norms; with latent_exchange the
///                    latents of all tokens of the sequence group
///   MLP              eager: gate, its activation, up, their product; fused: all but the activation
///   experts          the router's probabilities in fp32, weights and numbers of the chosen experts; for
///                    every routed copy of a token its input, the MLP's tensors, and its output before it is
///                    weighed; routing is assumed to be balanced
/// Under autocast each product whose input is in fp32 keeps a copy of it in bf16, and the residual stream is
/// in fp32. LoRA's adapters keep a copy of the layer's input and of attention's output, and the narrow tensor
/// between their two matrices. A sliding window changes only the buffers of ring attention.
struct LayerActivations {
  double kept_bytes = 0;          ///< if the layer is not checkpointed
  double checkpointed_bytes = 0;  ///< if the layer is checkpointed as the plan says
  double recomputed_bytes = 0;    ///< what a checkpointed layer makes anew for its backward pass
  /// Gradients of activations during the backward pass of its MLP, beyond the activations that this pass has
  /// freed by then.
  double gradient_bytes = 0;
  /// Buffers of the layer's largest exchange.
  double exchange_bytes = 0;
};

/// The activations of a layer of this kind. A layer that is checkpointed in full keeps only its input,
/// between the blocks; by operation, also the outputs that Checkpointing::operations names; by modules, all
/// but what is inside of these. A norm that is recomputed keeps its input, and an activation gate and up.
/// Selective checkpointing is Megatron's: the inside of attention is recomputed, which flash attention does
/// anyway. It saves one of the two copies of the kernel's output with Ulysses, and nothing without.
/// recompute_stops_early does not change memory, because nothing keeps the output of the last matrix product.
LayerActivations layer_activations(const Transformer& model, const ParallelPlan& plan, LayerKind kind);

}  // namespace packsim
