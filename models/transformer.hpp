#pragma once

#include <cstdint>
#include <string>

namespace packsim {

/// A decoder-only transformer's sizes (gated MLP, RMSNorm, grouped-query attention), and the amounts of work
/// and parameters that follow from them.
struct Transformer {
  std::string name;
  std::string source;  ///< where the sizes were published
  int n_layers = 0;
  int hidden_size = 0;
  int n_heads = 0;
  int n_kv_heads = 0;
  int head_dim = 0;
  int ffn_size = 0;
  int vocab_size = 0;
  bool tied_embeddings = false;
  bool qkv_bias = false;
  double published_parameters = 0;  ///< as the publisher counts them; 0 where it does not say

  double query_width() const { return static_cast<double>(n_heads) * head_dim; }
  double kv_width() const { return static_cast<double>(n_kv_heads) * head_dim; }

  /// Weights of the matrix products of one layer.
  double layer_matmul_parameters() const;
  double layer_parameters() const;
  double parameters() const;

  /// Forward flop of one token through the matrix products of all layers; 2 a weight.
  double layers_flop_per_token() const;
  /// Forward flop of one token through the output head.
  double head_flop_per_token() const;
  /// Forward flop of attention in all layers for one squared token of document length (causal: half the
  /// square).
  double attention_flop_per_pair() const;
};

}  // namespace packsim
