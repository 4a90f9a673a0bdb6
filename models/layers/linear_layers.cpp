#include "models/layers/linear_layers.hpp"

#include <stdexcept>

namespace packsim {
namespace {

using Layers = std::vector<LinearLayer>;

void add_grouped_query(Layers& layers, const Transformer& model) {
  const std::int64_t hidden = model.hidden_size;
  const std::int64_t query = std::int64_t{model.n_heads} * model.head_dim;
  const std::int64_t key_value = std::int64_t{model.n_kv_heads} * model.head_dim;
  layers.push_back({.name = "q", .out = query, .in = hidden});
  layers.push_back({.name = "k", .out = key_value, .in = hidden});
  layers.push_back({.name = "v", .out = key_value, .in = hidden});
  layers.push_back({.name = "o", .out = hidden, .in = query, .splits_in = true});
}

void add_latent(Layers& layers, const Transformer& model) {
  const LatentAttention& latent = model.latent;
  const std::int64_t hidden = model.hidden_size;
  const std::int64_t heads = model.n_heads;
  const std::int64_t query = heads * model.head_dim;
  if (latent.q_lora_rank > 0) {
    layers.push_back({.name = "q_a", .out = latent.q_lora_rank, .in = hidden, .replicated = true});
    layers.push_back({.name = "q_b", .out = query, .in = latent.q_lora_rank});
  } else {
    layers.push_back({.name = "q", .out = query, .in = hidden});
  }
  layers.push_back({.name = "kv_a",
                    .out = std::int64_t{latent.kv_lora_rank} + latent.qk_rope_head_dim,
                    .in = hidden,
                    .replicated = true});
  layers.push_back({.name = "kv_b",
                    .out = heads * (latent.qk_nope_head_dim + latent.v_head_dim),
                    .in = latent.kv_lora_rank});
  layers.push_back({.name = "o", .out = hidden, .in = heads * latent.v_head_dim, .splits_in = true});
}

void add_experts(Layers& layers, const Transformer& model) {
  const Experts& experts = model.experts;
  const std::int64_t hidden = model.hidden_size;
  const std::int64_t ffn = experts.ffn_size;
  const int copies = experts.n_routed;
  const double share = static_cast<double>(experts.per_token) / experts.n_routed;
  layers.push_back({.name = "router", .out = copies, .in = hidden, .replicated = true});
  const auto add = [&](std::string_view name, std::int64_t out, std::int64_t in) {
    layers.push_back(
        {.name = name, .out = out, .in = in, .replicated = true, .copies = copies, .token_share = share});
  };
  add("expert_gate", ffn, hidden);
  add("expert_up", ffn, hidden);
  add("expert_down", hidden, ffn);
  const std::int64_t shared = experts.shared_ffn_size;
  if (shared == 0) return;
  layers.push_back({.name = "shared_gate", .out = shared, .in = hidden});
  layers.push_back({.name = "shared_up", .out = shared, .in = hidden});
  layers.push_back({.name = "shared_down", .out = hidden, .in = shared, .splits_in = true});
  if (experts.shared_gate)
    layers.push_back({.name = "shared_weight", .out = 1, .in = hidden, .replicated = true});
}

void add_mlp(Layers& layers, const Transformer& model) {
  const std::int64_t hidden = model.hidden_size;
  const std::int64_t ffn = model.ffn_size;
  layers.push_back({.name = "gate", .out = ffn, .in = hidden});
  layers.push_back({.name = "up", .out = ffn, .in = hidden});
  layers.push_back({.name = "down", .out = hidden, .in = ffn, .splits_in = true});
}

}  // namespace

std::vector<LinearLayer> linear_layers(const Transformer& model, LayerKind kind) {
  if (kind == LayerKind::expert && !model.has_experts())
    throw std::invalid_argument(model.name + " has no layers with experts");
  Layers layers;
  if (model.has_latent_attention()) {
    add_latent(layers, model);
  } else {
    add_grouped_query(layers, model);
  }
  if (kind == LayerKind::expert) {
    add_experts(layers, model);
  } else {
    add_mlp(layers, model);
  }
  return layers;
}

std::vector<LinearLayer> linear_layers(const Transformer& model) {
  return linear_layers(model, model.main_kind());
}

LinearLayer head_layer(const Transformer& model) {
  return {.name = "head", .out = model.vocab_size, .in = model.hidden_size};
}

}  // namespace packsim
