#pragma once

#include "models/styles/fused.hpp"

namespace packsim {

/// Megatron-Core with Transformer Engine: a norm and the product behind it are one module, queries, keys and
/// values one product, and weight gradients add up in the product that makes them. Its modules cost the host
/// more than PyTorch's: 91 against 33 us a linear layer from a Grace CPU (NVIDIA/TransformerEngine, issue
/// 2053), nearly the same since 2026 (issue 2126).
///
/// Ring attention is AttnFuncWithCPAndKVP2P of transformer_engine/pytorch/attention/dot_product_attention/
/// context_parallel.py at d0067d0d, for packed documents by FlashAttention, counted by reading. Forward, each
/// step divides the documents' limits (2), runs attention and corrects the output (1), and each hop sends and
/// receives (2), takes halves (1.5 on average) and corrects the softmax's sums (1); once, two limits are
/// divided, keys and values and the sums copied, and zeros made. Backward, each step sends and receives (2),
/// runs attention (3) and adds up three gradients, and each hop takes halves (2.5); once, half of the sums
/// and the keys and values are copied, and three gradients cleared behind the last document, for which the
/// host reads where that ends (2 each). Of these, those that take halves, correct the output and add up
/// gradients move as much as HopCopies says: in a causal ring, half of the hops have all queries and half of
/// the keys, and the others half of the queries and all keys. Adding up reads the sum and what is added, and
/// writes the sum (6 bytes a value in bf16); half of a block is read and written (4 for each of its values).
/// Forward, an output is corrected (.75 x 6) and half of the queries (.5 x .5 x 4) or of the
/// keys and values taken; backward, so are halves of queries, outputs and their gradients.
inline constexpr KernelStyle kTransformerEngineKernels = [] {
  KernelStyle style = kFusedKernels;
  style.name = "transformer_engine";
  style.text = "Megatron-Core with Transformer Engine's fused modules";
  style.attention_backward_launches = 3;
  style.ring = {.forward = 5 + 3, .backward = 2 + 6 + 5};
  style.ring_hop = {.forward = 3 + 3, .backward = 3 + 2};
  style.hop_forward.launches = 1 + 1.5;
  style.hop_backward.launches = 3 + 2.5;
  style.varlen_ring_reads = 1;  // three, one after another
  style.launch_cost = 1.5;
  style.recomputed_launch_cost = 1.5;
  style.memory_error = 0.1;
  return style;
}();

}  // namespace packsim
