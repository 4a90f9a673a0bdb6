#include "models/transformer.hpp"

#include <algorithm>

namespace packsim {
namespace {

double grouped_query_parameters(const Transformer& model) {
  const double h = model.hidden_size;
  return 2 * h * model.query_width() + 2 * h * model.kv_width();
}

double latent_parameters(const Transformer& model) {
  const double h = model.hidden_size;
  const LatentAttention& latent = model.latent;
  const double query = latent.q_lora_rank > 0
                           ? h * latent.q_lora_rank + latent.q_lora_rank * model.query_width()
                           : h * model.query_width();
  const double down = h * (latent.kv_lora_rank + latent.qk_rope_head_dim);
  const double up = static_cast<double>(latent.kv_lora_rank) * model.n_heads *
                    (latent.qk_nope_head_dim + latent.v_head_dim);
  return query + down + up + h * model.attention_width();
}

double attention_parameters(const Transformer& model) {
  return model.has_latent_attention() ? latent_parameters(model) : grouped_query_parameters(model);
}

double mlp_parameters(const Transformer& model, double ffn_size) {
  return 3.0 * model.hidden_size * ffn_size;  // gate, up, down
}

double mixture_parameters(const Transformer& model, int n_routed) {
  const Experts& experts = model.experts;
  const double h = model.hidden_size;
  const double router = h * experts.n_routed;
  return router + n_routed * mlp_parameters(model, experts.ffn_size) +
         mlp_parameters(model, experts.shared_ffn_size) + (experts.shared_gate ? h : 0);
}

// With so many of the routed experts.
double matmul_parameters(const Transformer& model, LayerKind kind, int n_routed) {
  return attention_parameters(model) + (kind == LayerKind::dense ? mlp_parameters(model, model.ffn_size)
                                                                 : mixture_parameters(model, n_routed));
}

double norm_and_bias_parameters(const Transformer& model) {
  double parameters = 2.0 * model.hidden_size;
  if (model.qkv_bias) parameters += model.query_width() + 2 * model.kv_width();
  if (model.qk_norm) parameters += 2.0 * model.head_dim;  // shared by the heads
  return parameters + model.latent.q_lora_rank + model.latent.kv_lora_rank;
}

}  // namespace

int Transformer::n_layers_of(LayerKind kind) const {
  const int n_dense = has_experts() ? experts.n_dense_layers : n_layers;
  return kind == LayerKind::dense ? n_dense : n_layers - n_dense;
}

double Transformer::layer_matmul_parameters(LayerKind kind) const {
  return matmul_parameters(*this, kind, experts.n_routed);
}

double Transformer::active_layer_matmul_parameters(LayerKind kind) const {
  return matmul_parameters(*this, kind, experts.per_token);
}

double Transformer::layer_parameters(LayerKind kind) const {
  return layer_matmul_parameters(kind) + norm_and_bias_parameters(*this);
}

double Transformer::parameters() const {
  const double embedding = static_cast<double>(vocab_size) * hidden_size;
  double parameters = (tied_embeddings ? 1 : 2) * embedding + hidden_size;
  for (const LayerKind kind : {LayerKind::dense, LayerKind::expert})
    parameters += n_layers_of(kind) * layer_parameters(kind);
  return parameters;
}

double Transformer::active_parameters() const {
  constexpr LayerKind kExpert = LayerKind::expert;
  return parameters() -
         n_layers_of(kExpert) * (layer_matmul_parameters(kExpert) - active_layer_matmul_parameters(kExpert));
}

double Transformer::layers_flop_per_token() const {
  double flop = 0;
  for (const LayerKind kind : {LayerKind::dense, LayerKind::expert})
    flop += 2.0 * n_layers_of(kind) * active_layer_matmul_parameters(kind);
  return flop;
}

double Transformer::head_flop_per_token() const {
  return 2.0 * vocab_size * hidden_size;
}

double Transformer::layer_attention_flop_per_pair() const {
  // Two products (scores, and scores times values) of 2 flop each over half of the square.
  return query_width() + attention_width();
}

double Transformer::window_fraction(std::int64_t document_tokens) const {
  if (document_tokens <= 0) return 1;
  return causal_pairs(document_tokens, sliding_window_tokens) / causal_pairs(document_tokens, 0);
}

double Transformer::attention_flop(std::int64_t document_tokens) const {
  const auto length = static_cast<double>(document_tokens);
  const double layers = n_layers - n_windowed_layers + n_windowed_layers * window_fraction(document_tokens);
  return layers * layer_attention_flop_per_pair() * length * length;
}

double causal_pairs(std::int64_t document_tokens, std::int64_t window_tokens) {
  const auto n = static_cast<double>(document_tokens);
  const double window = window_tokens > 0 ? std::min(n, static_cast<double>(window_tokens)) : n;
  return window * (window + 1) / 2 + (n - window) * window;
}

}  // namespace packsim
