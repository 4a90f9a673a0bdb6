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
  /// Size of the key part that all heads share, and of each query head's part.
  int qk_rope_head_dim = 0;
  int v_head_dim = 0;
  bool operator==(const LatentAttention&) const = default;
};

/// A mixture of experts in place of the MLP; n_routed 0: the model is dense.
struct Experts {
  int n_routed = 0;
  int per_token = 0;         ///< number of routed experts that a token goes through
  int ffn_size = 0;          ///< of one routed expert
  int shared_ffn_size = 0;   ///< of all shared experts together, which every token goes through; 0: none
  bool shared_gate = false;  ///< a gate with one output weighs the shared experts (Qwen2-MoE)
  /// Number of layers at the start with a dense MLP of size Transformer::ffn_size instead.
  int n_dense_layers = 0;
  /// A token's experts lie in at most groups_per_token of n_groups equal groups of neighbouring experts
  /// (node-limited routing); 1 and 1: anywhere.
  int n_groups = 1;
  int groups_per_token = 1;
  bool operator==(const Experts&) const = default;
};

/// The most layers of a model.
inline constexpr int kMostLayers = 4096;

/// Layers differ in what follows attention: one MLP for all tokens, or a mixture of experts.
enum class LayerKind { dense, expert };

/// Sizes of a decoder-only transformer with gated MLPs and RMSNorm, and the work and parameters that follow
/// from them. All counts are of all layers, unless the name says layer.
struct Transformer {
  std::string name;
  std::string source;  ///< where the sizes were published
  int n_layers = 0;
  int hidden_size = 0;
  int n_heads = 0;
  int n_kv_heads = 0;  ///< equal to n_heads with latent attention
  /// Size of a query or key head; with latent attention the sum of its two parts.
  int head_dim = 0;
  int ffn_size = 0;  ///< of dense layers
  int vocab_size = 0;
  bool tied_embeddings = false;
  bool qkv_bias = false;
  bool qk_norm = false;  ///< RMSNorm of every query and key head (Qwen3)
  /// RMSNorm of what attention and the MLP or experts put out, before it is added to their input (Gemma 3).
  bool output_norms = false;
  /// Queries, keys and values are one matrix, and gate and up another (Phi-3).
  bool fused_projections = false;
  /// A token attends to this many tokens up to and including itself; 0: to all.
  int sliding_window_tokens = 0;
  int n_windowed_layers = 0;  ///< number of layers with the window; the others have none
  LatentAttention latent = {};
  Experts experts = {};
  std::optional<double> published_parameters = {};  ///< as counted by the publisher, if published

  bool operator==(const Transformer&) const = default;
  /// Whether the other model is the same except for its name, source and published parameter count.
  bool has_sizes_of(Transformer other) const {
    other.name = name;
    other.source = source;
    other.published_parameters = published_parameters;
    return *this == other;
  }

  bool has_windows() const { return n_windowed_layers > 0 && sliding_window_tokens > 0; }
  /// Share of the layers that have the window.
  double windowed_layers() const {
    return has_windows() ? static_cast<double>(n_windowed_layers) / n_layers : 0;
  }
  bool has_latent_attention() const { return latent.kv_lora_rank > 0; }
  bool has_experts() const { return experts.n_routed > 0; }
  int value_head_dim() const { return has_latent_attention() ? latent.v_head_dim : head_dim; }
  double query_width() const { return static_cast<double>(n_heads) * head_dim; }
  double kv_width() const { return static_cast<double>(n_kv_heads) * head_dim; }
  /// Width of the attention output, which is the input of the o projection.
  double attention_width() const { return static_cast<double>(n_heads) * value_head_dim(); }

  int n_layers_of(LayerKind kind) const;
  /// The kind of layer that functions without a kind refer to: layers with experts if the model has any.
  LayerKind main_kind() const { return has_experts() ? LayerKind::expert : LayerKind::dense; }

  // The following are sums over the parts of a layer (layers/layer_parts.hpp). They throw
  // std::invalid_argument for the expert layers of a dense model.

  /// Weights of the matrix products of one layer, including those of all its experts.
  double layer_matmul_parameters(LayerKind kind) const;
  /// The weights of these that one token goes through.
  double active_layer_matmul_parameters(LayerKind kind) const;
  double layer_norm_and_bias_parameters(LayerKind kind) const;
  double layer_parameters(LayerKind kind) const;
  double layer_matmul_parameters() const { return layer_matmul_parameters(main_kind()); }
  double layer_parameters() const { return layer_parameters(main_kind()); }

  double parameters() const;
  /// Parameters without the routed experts that a token does not go through. The embedding and the output
  /// head both count.
  double active_parameters() const;

  /// Forward flop of one token through the matrix products of all layers: 2 for each active weight.
  double layers_flop_per_token() const;
  /// Forward flop of one token through the output head.
  double head_flop_per_token() const;

  /// Forward flop of attention in one layer without a window, for each squared token of document length.
  /// Causal attention computes half of the square.
  double layer_attention_flop_per_pair() const;
  /// The same over all layers, as if no layer had a window.
  double attention_flop_per_pair() const { return n_layers * layer_attention_flop_per_pair(); }
  /// Share of causal_pairs() that the window leaves in a document, 0..1; 1 if the document is no longer than
  /// the window.
  double window_fraction(std::int64_t document_tokens) const;
  /// Forward flop of attention over one document in all layers; layers with a window count with the share
  /// that it leaves.
  double attention_flop(std::int64_t document_tokens) const;

  /// Flop that training needs for so many tokens: three times those of the forward pass, because the backward
  /// pass computes gradients of inputs and of weights. attention_flop: of the forward pass over their
  /// documents.
  double training_flop(double tokens, double attention_flop) const {
    return 3 * (tokens * (layers_flop_per_token() + head_flop_per_token()) + attention_flop);
  }
};

/// Query-key pairs of causal attention over one document: token i of 1..document_tokens sees
/// min(i, window_tokens) tokens, itself included. window_tokens 0: it sees all i.
/// 5 tokens under a window of 3 give 1 + 2 + 3 + 3 + 3 = 12.
double causal_pairs(std::int64_t document_tokens, std::int64_t window_tokens);

}  // namespace packsim
