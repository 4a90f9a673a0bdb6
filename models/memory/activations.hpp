#pragma once

#include "models/parallel_plan.hpp"
#include "models/transformer.hpp"

namespace packsim {

/// What one layer holds on one GPU for each token that the GPU has between the blocks (a 1 / sequence_gpus()
/// of its micro-batch), in bytes. bf16 tensors; flash attention, which keeps no scores.
///
/// Counted are the tensors that autograd keeps in a layer as Hugging Face writes it, each operation a kernel
/// of its own. Widths inside the blocks are a tp-th and tokens tp times as many, so tensor parallelism with
/// its activations sharded along the sequence leaves the bytes as they are, but for key-value heads that are
/// copied where tp x sp is more than there are, and the latents, which every GPU makes of all tokens.
///   norm            an fp32 copy of its input, the normalised input, its output: 8 bytes a value
///   attention       rotated queries and keys, values, the kernel's output, and that once more behind the
///                   all-to-all; a query and key norm keeps 6 bytes a value
///   latent attention  as well: the latents, their norms' tensors; with latent_exchange the latents of all
///   the
///                   sequence group's tokens
///   MLP             gate, its activation, up, their product
///   experts         the router's probabilities in fp32, weights and numbers of the chosen experts; of every
///                   routed copy of a token its input, the MLP's tensors, and its output before it is
///                   weighed. The routing is taken as balanced.
/// With fused kernels (Liger's, torch.compile's) a norm is one operation that keeps its input and output, 4
/// bytes a value, and an MLP keeps gate, up and the activated product. A sliding window changes nothing.
struct LayerActivations {
  double kept_bytes = 0;       ///< where the layer is not checkpointed
  double selective_bytes = 0;  ///< where it is checkpointed selectively
  double input_bytes = 0;      ///< where it is checkpointed in full: its input, between the blocks
  /// Gradients of activations while its MLP's backward pass runs, beyond what that has freed by then.
  double gradient_bytes = 0;
  /// Buffers of the largest of its exchanges.
  double exchange_bytes = 0;
};

/// Selective checkpointing is Megatron's: the inside of attention is recomputed, which flash attention does
/// anyway. All that it saves here is the kernel's output, once; where sp_degree is 1 frameworks that copy
/// nothing behind attention save nothing at all. recompute_stops_early changes no memory: the last product's
/// output is kept by nobody.
LayerActivations layer_activations(const Transformer& model, const ParallelPlan& plan, LayerKind kind,
                                   bool fused_kernels = false);

}  // namespace packsim
