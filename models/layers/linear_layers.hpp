#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/transformer.hpp"

namespace packsim {

/// A linear layer of a decoder, y[tokens, out] = x[tokens, in] W[out, in]^T.
struct LinearLayer {
  std::string_view name = {};  ///< such as "q" or "expert_up"
  std::int64_t out = 0;
  std::int64_t in = 0;
  bool splits_in = false;  ///< tensor parallelism shards its input, not its output: o and down
  /// Tensor parallelism shards neither: the router, latent down projections, and experts, which are whole.
  bool replicated = false;
  int copies = 1;          ///< alike, one an expert; expert parallelism spreads them
  double token_share = 1;  ///< of the tokens, what one copy sees where the router is balanced

  double parameters() const { return static_cast<double>(out) * static_cast<double>(in) * copies; }
  /// Forward flop of all copies for one token.
  double flop_per_token() const { return 2 * parameters() * token_share; }
};

/// Of one decoder layer, in the order of the forward pass. Separate products, as Hugging Face's layers run
/// them; frameworks that fuse q, k, v or gate, up run fewer, wider ones of the same flop.
///
/// Attention: q, k, v, o; with latent attention q_a, q_b (or q), kv_a, kv_b, o, where kv_a makes the latent
/// and the key part that is rotated. kv_b expands the latent to the heads' keys and values, as training does.
/// Then gate, up, down; with experts router, expert_gate, expert_up, expert_down, and where there are shared
/// experts shared_gate, shared_up, shared_down as well as shared_weight, their gate of one output.
/// Throws std::invalid_argument for the expert layers of a dense model.
std::vector<LinearLayer> linear_layers(const Transformer& model, LayerKind kind);

/// Of a layer of the model's main kind.
std::vector<LinearLayer> linear_layers(const Transformer& model);

/// The output head.
LinearLayer head_layer(const Transformer& model);

}  // namespace packsim
