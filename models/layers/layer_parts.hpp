#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/layer_modules.hpp"
#include "models/layers/linear_layer.hpp"
#include "models/styles/kernel_style.hpp"
#include "models/transformer.hpp"

namespace packsim {

/// One operation of a decoder layer, as the model defines it, independent of parallelism.
///
/// The list of a layer's parts is the only description of a layer. Everything else is derived from it: its
/// parameters (transformer_counts.cpp), its linear layers, the kernels and exchanges of a GPU under a plan
/// (layer_ops.hpp), and what it keeps for its backward pass (memory/activations.hpp).
struct LayerPart {
  enum class Kind : std::uint8_t {
    norm,          ///< RMSNorm over each run of `norm_values` values of the width
    linear,        ///< a matrix product
    slices,        ///< cuts what one product makes into queries, keys and values, or gate and up
    rope,          ///< rotary position embedding
    attention,     ///< causal, over whole documents
    activation,    ///< SwiGLU: the activated gate times up
    residual_add,  ///< adds the layer's input, or the output of the routed experts
    /// Tensor parallelism gathers the block's input along the sequence.
    gather_tokens,
    scatter_tokens,  ///< tensor parallelism adds up and scatters the block's output
    /// Ulysses all-to-all: from own tokens with all heads to all tokens with own heads.
    tokens_to_heads,
    heads_to_tokens,  ///< and back
    /// Ulysses with latent_exchange: a GPU gets the latents of all tokens of its sequence.
    gather_latents,
    /// Ring attention under a sliding window: a GPU gets the keys and values of its whole ring.
    gather_keys,
    gather_keys_again,  ///< once more in the backward pass, as they were not kept
    /// Softmax over the router's output, the choice of experts, and what sorts tokens by them.
    choose_experts,
    to_experts,    ///< all-to-all of tokens to the GPUs of their experts
    from_experts,  ///< and back
    /// The gate's value times the output of the shared experts; it has no kernel.
    weigh_shared,
  };
  /// The tokens that the part works on, on one GPU.
  enum class Tokens : std::uint8_t {
    own,       ///< tokens that the GPU has between the blocks
    gathered,  ///< tokens of its tensor-parallel group
    sequence,  ///< tokens of all GPUs that share the sequence by Ulysses
    routed,    ///< tokens that are routed to one expert
  };
  Kind kind = Kind::linear;
  Tokens tokens = Tokens::gathered;
  /// Width of what it works on or sends; unused for linear and attention.
  Width width = {};
  LinearLayer linear = {};                  ///< only for linear
  std::int64_t norm_values = 0;             ///< only for norm: the size of its weight
  PartStyle KernelStyle::*style = nullptr;  ///< only for slices: how stacks compute them
  /// Only for tokens_to_heads: number of heads; if there are more GPUs, they get copies.
  int heads = 0;
  /// Only for norm: whether a product keeps its output. Rotary embedding and residual add keep nothing of it.
  bool feeds_product = true;
  int copies = 1;  ///< only for activation: one for each expert
  /// Only for activation, choose_experts and the expert exchange: experts of a token.
  int per_token = 1;
  LayerModules modules = {};  ///< the modules that it is a part of
};

/// The parts of one decoder layer, in the order of the forward pass.
///
/// sends_latents: whether Ulysses sends the latents of latent attention instead of keys and values, so that
/// every GPU makes keys and values of all tokens itself. Throws std::invalid_argument for the expert layers
/// of a dense model.
std::vector<LayerPart> layer_parts(const Transformer& model, LayerKind kind, bool sends_latents = false);

}  // namespace packsim
