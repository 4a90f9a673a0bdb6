#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace packsim {

/// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): keys and values are made from a latent vector
/// that all heads share. kv_lora_rank 0: the model has grouped-query attention.
struct LatentAttention {
  int q_lora_rank = 0;  ///< 0: queries are made from the hidden state directly
  int kv_lora_rank = 0;
  int qk_nope_head_dim = 0;
  int qk_rope_head_dim = 0;  ///< of one key for all heads, and of each query head
  int v_head_dim = 0;
  bool operator==(const LatentAttention&) const = default;
};

/// A mixture of experts in place of the MLP; n_routed 0: the model is dense.
struct Experts {
  int n_routed = 0;
  int per_token = 0;         ///< routed experts that a token goes through
  int ffn_size = 0;          ///< of one routed expert
  int shared_ffn_size = 0;   ///< of the experts that every token goes through, together; 0: none
  bool shared_gate = false;  ///< a gate of one output weighs the shared experts (Qwen2-MoE)
  int n_dense_layers = 0;    ///< layers at the start that have a dense MLP of Transformer::ffn_size instead
  bool operator==(const Experts&) const = default;
};

/// Layers differ in what follows attention: one MLP for all tokens, or a mixture of experts.
enum class LayerKind { dense, expert };

/// A decoder-only transformer's sizes (gated MLP, RMSNorm), and the amounts of work and parameters that
/// follow from them. Everything counts all layers unless its name says layer.
struct Transformer {
  std::string name;
  std::string source;  ///< where the sizes were published
  int n_layers = 0;
  int hidden_size = 0;
  int n_heads = 0;
  int n_kv_heads = 0;  ///< with latent attention as many as heads
  int head_dim = 0;    ///< of queries and keys; with latent attention both parts together
  int ffn_size = 0;    ///< of dense layers
  int vocab_size = 0;
  bool tied_embeddings = false;
  bool qkv_bias = false;
  bool qk_norm = false;           ///< RMSNorm of every query and key head (Qwen3)
  int sliding_window_tokens = 0;  ///< a token sees so many before it, itself included; 0: all
  int n_windowed_layers = 0;      ///< layers that have the window; the others see all
  LatentAttention latent = {};
  Experts experts = {};
  std::optional<double> published_parameters = {};  ///< as the publisher counts them, where it says

  bool operator==(const Transformer&) const = default;
  /// Whether it is the same model under whatever name and source.
  bool has_sizes_of(Transformer other) const {
    other.name = name;
    other.source = source;
    other.published_parameters = published_parameters;
    return *this == other;
  }

  bool has_latent_attention() const { return latent.kv_lora_rank > 0; }
  bool has_experts() const { return experts.n_routed > 0; }
  int value_head_dim() const { return has_latent_attention() ? latent.v_head_dim : head_dim; }
  double query_width() const { return static_cast<double>(n_heads) * head_dim; }
  double kv_width() const { return static_cast<double>(n_kv_heads) * head_dim; }
  /// Of what attention gives to the o projection.
  double attention_width() const { return static_cast<double>(n_heads) * value_head_dim(); }

  int n_layers_of(LayerKind kind) const;
  /// The kind that most callers mean where they speak of one layer: experts where the model has any.
  LayerKind main_kind() const { return has_experts() ? LayerKind::expert : LayerKind::dense; }

  // Sums over the parts of a layer (layers/layer_parts.hpp). They throw std::invalid_argument for the expert
  // layers of a dense model.

  /// Weights of the matrix products of one layer, those of all its experts included.
  double layer_matmul_parameters(LayerKind kind) const;
  /// Of these, the ones that a token goes through.
  double active_layer_matmul_parameters(LayerKind kind) const;
  double layer_norm_and_bias_parameters(LayerKind kind) const;
  double layer_parameters(LayerKind kind) const;
  double layer_matmul_parameters() const { return layer_matmul_parameters(main_kind()); }
  double layer_parameters() const { return layer_parameters(main_kind()); }

  double parameters() const;
  /// Parameters less the routed experts that a token does not go through; both embeddings count.
  double active_parameters() const;

  /// Forward flop of one token through the matrix products of all layers; 2 an active weight.
  double layers_flop_per_token() const;
  /// Forward flop of one token through the output head.
  double head_flop_per_token() const;

  /// Forward flop of attention in one layer for one squared token of document length (causal: half the
  /// square), without a window.
  double layer_attention_flop_per_pair() const;
  /// The same in all layers, as if none had a window.
  double attention_flop_per_pair() const { return n_layers * layer_attention_flop_per_pair(); }
  /// Share of causal_pairs() that the window leaves in a document, 0..1; 1 where the window holds it all.
  double window_fraction(std::int64_t document_tokens) const;
  /// Forward flop of attention over one document in all layers, windowed ones with their share of it.
  double attention_flop(std::int64_t document_tokens) const;
};

/// Query-key pairs of causal attention over one document: token i of 1..document_tokens sees
/// min(i, window_tokens) tokens, itself included. window_tokens 0: it sees all i.
/// 5 tokens under a window of 3 give 1 + 2 + 3 + 3 + 3 = 12.
double causal_pairs(std::int64_t document_tokens, std::int64_t window_tokens);

}  // namespace packsim
