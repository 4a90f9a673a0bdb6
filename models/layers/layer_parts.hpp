#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/layers/linear_layer.hpp"
#include "models/transformer.hpp"

namespace packsim {

/// One operation of a decoder layer as the model has it, whatever the degrees of parallelism are.
///
/// The list of a layer's parts is the only description of a layer. Its parameters (transformer_counts.cpp),
/// its linear layers, the kernels and exchanges of a GPU under a plan (layer_ops.hpp), and what it keeps for
/// its backward pass (memory/activations.hpp) are all derived from it.
struct LayerPart {
  enum class Kind : std::uint8_t {
    norm,             ///< RMSNorm; each `norm_values` of the width share one norm
    linear,           ///< a matrix product
    rope,             ///< rotary positions
    attention,        ///< causal, over whole documents
    activation,       ///< swiglu: the gate's activation times up
    residual_add,     ///< the layer's input, or the output of the routed experts, is added
    gather_tokens,    ///< tensor parallelism gathers the block's input along the sequence
    scatter_tokens,   ///< and adds up and scatters its output
    tokens_to_heads,  ///< Ulysses: a GPU has its tokens for all heads, and gets all tokens for its heads
    heads_to_tokens,  ///< and back
    gather_latents,   ///< Ulysses, latent_exchange: a GPU gets the latents of all tokens of its sequence
    choose_experts,   ///< softmax over the router's output and the choice of experts; no kernel stands for it
    to_experts,       ///< tokens travel to the GPUs of their experts
    from_experts,     ///< and back
    weigh_shared,     ///< the gate's value times the shared experts' output; no kernel stands for it
  };
  /// Tokens that the part sees on a GPU.
  enum class Tokens : std::uint8_t {
    own,       ///< those that the GPU has between the blocks
    gathered,  ///< those of its tensor-parallel group
    sequence,  ///< those of all GPUs that share the sequence by Ulysses
    routed,    ///< those that are routed to one expert
  };
  Kind kind = Kind::linear;
  Tokens tokens = Tokens::gathered;
  Width width = {};              ///< of what it works on or sends; not of linear and attention
  LinearLayer linear = {};       ///< of linear
  std::int64_t norm_values = 0;  ///< of norm: the size of its weight
  int heads = 0;                 ///< of tokens_to_heads: GPUs beyond this number get copies
  bool feeds_rope = false;       ///< of norm: its output goes into the rotation, which keeps nothing of it
  int copies = 1;                ///< of activation: one for each expert
  int per_token = 1;             ///< of activation, choose_experts and the exchange: experts that a token has
};

/// Of one decoder layer, in the order of the forward pass. sends_latents: whether Ulysses sends the latents
/// of latent attention instead of keys and values, which every GPU then makes for all tokens.
/// Throws std::invalid_argument for the expert layers of a dense model.
std::vector<LayerPart> layer_parts(const Transformer& model, LayerKind kind, bool sends_latents = false);

}  // namespace packsim
