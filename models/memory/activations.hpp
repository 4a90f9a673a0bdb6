#pragma once

#include "models/parallel_plan.hpp"
#include "models/transformer.hpp"

namespace packsim {

/// Memory of one layer on one GPU, in bytes for each token that the GPU has between the blocks (1 /
/// sequence_gpus() of its micro-batch). Tensors are in bf16, and flash attention keeps no scores.
///
/// What counts are the tensors that autograd keeps in a layer as Hugging Face writes it, with each operation
/// a kernel of its own. Under tensor parallelism with activations sharded along the sequence, widths inside
/// the blocks are divided by tp while tokens are multiplied by tp, so the bytes stay the same. There are two
/// exceptions: key-value heads, which are copied if tp x sp exceeds their number, and latents, which every
/// GPU makes of all tokens.
///   norm             an fp32 copy of its input, the normalised input, its output: 8 bytes for each value
///   attention        rotated queries and keys, values, the kernel's output, and that output once more after
///                    the all-to-all; a query and key norm keeps 6 bytes for each value
///   latent attention in addition the latents and the tensors of their norms; with latent_exchange the
///                    latents of all tokens of the sequence group
///   MLP              gate, its activation, up, their product
///   experts          the router's probabilities in fp32, weights and numbers of the chosen experts; for
///                    every routed copy of a token its input, the MLP's tensors, and its output before it is
///                    weighed; routing is assumed to be balanced
/// With fused kernels (Liger's, torch.compile's) a norm is one operation that keeps its input and output, 4
/// bytes for each value, and an MLP keeps gate, up and the activated product. A sliding window changes only
/// the buffers of ring attention.
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
/// anyway. Here it saves only one copy of the kernel's output; if sp_degree is 1, frameworks that do not copy
/// that output after attention save nothing at all.
/// recompute_stops_early does not change memory, because nothing keeps the output of the last matrix product.
LayerActivations layer_activations(const Transformer& model, const ParallelPlan& plan, LayerKind kind,
                                   bool fused_kernels = false);

}  // namespace packsim
