#include "models/layers/layer_parts.hpp"

#include <stdexcept>

namespace packsim {
namespace {

using std::int64_t;
using Kind = LayerPart::Kind;
using Tokens = LayerPart::Tokens;

Width split_heads(int64_t heads, int64_t head_dim) {
  return {.whole = heads * head_dim, .is_split = true, .least = head_dim};
}

struct PartList {
  const Transformer& model;
  std::vector<LayerPart> parts = {};
  LayerModules modules = {};  // of the parts that are added next

  Width hidden() const { return {.whole = model.hidden_size}; }
  void add(const LayerPart& part) { parts.emplace_back(part).modules = modules; }
  void linear(const LinearLayer& layer, Tokens tokens = Tokens::gathered) {
    add({.kind = Kind::linear, .tokens = tokens, .linear = layer});
  }
  void between_blocks(Kind kind) {
    add({.kind = kind,
         .tokens = Tokens::own,
         .width = hidden(),
         .norm_values = kind == Kind::norm ? model.hidden_size : 0});
  }
  void input_norm() {
    modules.add(LayerModule::layernorm);
    between_blocks(Kind::norm);
    modules = {};
  }
  // Ends a block: its output is added to its input.
  void add_output() {
    if (model.output_norms) {
      between_blocks(Kind::norm);
      parts.back().feeds_product = false;
    }
    between_blocks(Kind::residual_add);
  }
  void tensor_exchange(Kind kind) { add({.kind = kind, .width = hidden()}); }
  void slices(PartStyle KernelStyle::*style, const Width& width) {
    add({.kind = Kind::slices, .width = width, .style = style});
  }
  void rope(const Width& width) { add({.kind = Kind::rope, .width = width}); }
  void latent_norm(int64_t rank) { add({.kind = Kind::norm, .width = {.whole = rank}, .norm_values = rank}); }
  void head_norm(int64_t heads) {
    add({.kind = Kind::norm,
         .width = split_heads(heads, model.head_dim),
         .norm_values = model.head_dim,
         .feeds_product = false});
  }
  void to_heads(int heads, int64_t head_dim) {
    add({.kind = Kind::tokens_to_heads, .width = split_heads(heads, head_dim), .heads = heads});
  }
  void output_to_tokens() {
    add({.kind = Kind::heads_to_tokens,
         .width = split_heads(model.n_heads, model.value_head_dim()),
         .heads = model.n_heads});
  }
  void output_product() {
    linear({.name = "o",
            .out = model.hidden_size,
            .in = int64_t{model.n_heads} * model.value_head_dim(),
            .splits_in = true});
  }
};

void add_separate_heads(PartList& list) {
  const Transformer& model = list.model;
  const int64_t hidden = model.hidden_size;
  const int64_t head_dim = model.head_dim;
  const int64_t key_value = model.n_kv_heads * head_dim;
  list.linear({.name = "q", .out = model.n_heads * head_dim, .in = hidden, .has_bias = model.qkv_bias});
  LinearLayer key{
      .name = "k", .out = key_value, .in = hidden, .least_out = head_dim, .has_bias = model.qkv_bias};
  list.linear(key);
  key.name = "v";
  key.is_like_previous = true;
  list.linear(key);
}

void add_fused_heads(PartList& list) {
  const Transformer& model = list.model;
  const int64_t head_dim = model.head_dim;
  const LinearLayer product{.name = "qkv",
                            .out = (model.n_heads + 2 * model.n_kv_heads) * head_dim,
                            .in = model.hidden_size,
                            .least_out = 2 * head_dim,
                            .query_out = model.n_heads * head_dim,
                            .has_bias = model.qkv_bias};
  list.linear(product);
  list.slices(&KernelStyle::qkv_slices, product.out_width());
}

void add_grouped_query(PartList& list) {
  const Transformer& model = list.model;
  const int64_t head_dim = model.head_dim;
  if (model.fused_projections) {
    add_fused_heads(list);
  } else {
    add_separate_heads(list);
  }
  if (model.qk_norm) {
    list.head_norm(model.n_heads);
    list.head_norm(model.n_kv_heads);
  }
  for (const int heads : {model.n_heads, model.n_kv_heads}) {
    list.rope(split_heads(heads, head_dim));
    if (model.fused_projections) list.slices(&KernelStyle::rotated_slices, split_heads(heads, head_dim));
  }
  list.to_heads(model.n_heads, head_dim);
  list.to_heads(model.n_kv_heads, head_dim);
  list.to_heads(model.n_kv_heads, head_dim);
}

// The heads' keys and values, made from the latents.
void add_keys_and_values(PartList& list, Tokens tokens) {
  const LatentAttention& latent = list.model.latent;
  list.linear({.name = "kv_b",
               .out = int64_t{list.model.n_heads} * (latent.qk_nope_head_dim + latent.v_head_dim),
               .in = latent.kv_lora_rank},
              tokens);
}

void add_latent(PartList& list, bool sends_latents) {
  const Transformer& model = list.model;
  const LatentAttention& latent = model.latent;
  const int64_t hidden = model.hidden_size;
  const int64_t query = int64_t{model.n_heads} * model.head_dim;
  const int64_t latent_width = int64_t{latent.kv_lora_rank} + latent.qk_rope_head_dim;
  if (latent.q_lora_rank > 0) {
    list.linear({.name = "q_a", .out = latent.q_lora_rank, .in = hidden, .replicated = true});
    list.latent_norm(latent.q_lora_rank);
    list.modules.add(LayerModule::mla_up_proj);
    list.linear({.name = "q_b", .out = query, .in = latent.q_lora_rank});
    list.modules = {};
  } else {
    list.linear({.name = "q", .out = query, .in = hidden});
  }
  list.linear({.name = "kv_a", .out = latent_width, .in = hidden, .replicated = true});
  list.latent_norm(latent.kv_lora_rank);
  list.modules.add(LayerModule::mla_up_proj);
  list.rope(split_heads(model.n_heads, latent.qk_rope_head_dim));
  list.rope({.whole = latent.qk_rope_head_dim});
  if (!sends_latents) add_keys_and_values(list, Tokens::gathered);
  list.modules = {};
  list.to_heads(model.n_heads, model.head_dim);
  if (sends_latents) {
    list.add({.kind = Kind::gather_latents, .tokens = Tokens::sequence, .width = {.whole = latent_width}});
    list.modules.add(LayerModule::mla_up_proj);
    add_keys_and_values(list, Tokens::sequence);
    list.modules = {};
  } else {
    list.to_heads(model.n_heads, model.head_dim);
    list.to_heads(model.n_heads, latent.v_head_dim);
  }
}

void add_attention_block(PartList& list, bool sends_latents) {
  list.input_norm();
  list.tensor_exchange(Kind::gather_tokens);
  if (list.model.has_latent_attention()) {
    add_latent(list, sends_latents);
  } else {
    add_grouped_query(list);
  }
  list.modules.add(LayerModule::core_attn);
  list.add({.kind = Kind::gather_keys});
  list.add({.kind = Kind::attention});
  list.add({.kind = Kind::gather_keys_again});
  list.modules = {};
  list.output_to_tokens();
  list.output_product();
  list.tensor_exchange(Kind::scatter_tokens);
  list.add_output();
}

// The names of an MLP's products.
struct MlpNames {
  std::string_view gate;
  std::string_view up;
  std::string_view down;
};

void add_gate_and_up(PartList& list, const MlpNames& names, int64_t ffn_size) {
  const int64_t hidden = list.model.hidden_size;
  if (list.model.fused_projections) {
    const LinearLayer product{.name = "gate_up", .out = 2 * ffn_size, .in = hidden};
    list.linear(product);
    list.slices(&KernelStyle::gate_up_slices, product.out_width());
    return;
  }
  list.linear({.name = names.gate, .out = ffn_size, .in = hidden});
  list.linear({.name = names.up, .out = ffn_size, .in = hidden, .is_like_previous = true});
}

void add_split_mlp(PartList& list, const MlpNames& names, int64_t ffn_size) {
  const int64_t hidden = list.model.hidden_size;
  list.tensor_exchange(Kind::gather_tokens);
  add_gate_and_up(list, names, ffn_size);
  list.add({.kind = Kind::activation, .width = {.whole = ffn_size, .is_split = true}});
  list.linear({.name = names.down, .out = hidden, .in = ffn_size, .splits_in = true});
  list.tensor_exchange(Kind::scatter_tokens);
}

void add_routed_experts(PartList& list) {
  const Experts& experts = list.model.experts;
  const int64_t hidden = list.model.hidden_size;
  const auto exchange = [&](Kind kind) {
    list.add({.kind = kind, .tokens = Tokens::own, .width = list.hidden(), .per_token = experts.per_token});
  };
  const auto expert = [&](std::string_view name, int64_t out, int64_t in, bool splits_in,
                          bool is_like_previous) {
    list.linear({.name = name,
                 .out = out,
                 .in = in,
                 .splits_in = splits_in,
                 .copies = experts.n_routed,
                 .per_token = experts.per_token,
                 .is_like_previous = is_like_previous},
                Tokens::routed);
  };
  list.linear({.name = "router", .out = experts.n_routed, .in = hidden, .replicated = true}, Tokens::own);
  list.add({.kind = Kind::choose_experts,
            .tokens = Tokens::own,
            .width = {.whole = experts.n_routed},
            .per_token = experts.per_token});
  exchange(Kind::to_experts);
  expert("expert_gate", experts.ffn_size, hidden, false, false);
  expert("expert_up", experts.ffn_size, hidden, false, true);
  list.modules.add(LayerModule::moe_act);
  list.add({.kind = Kind::activation,
            .tokens = Tokens::routed,
            .width = {.whole = experts.ffn_size, .is_split = true},
            .copies = experts.n_routed,
            .per_token = experts.per_token});
  list.modules = LayerModules(LayerModule::moe);
  expert("expert_down", hidden, experts.ffn_size, true, false);
  exchange(Kind::from_experts);
}

void add_shared_experts(PartList& list) {
  const Experts& experts = list.model.experts;
  if (experts.shared_ffn_size == 0) return;
  if (experts.shared_gate) {
    list.linear({.name = "shared_weight", .out = 1, .in = list.model.hidden_size, .replicated = true},
                Tokens::own);
  }
  add_split_mlp(list, {"shared_gate", "shared_up", "shared_down"}, experts.shared_ffn_size);
  if (experts.shared_gate) list.between_blocks(Kind::weigh_shared);
  list.between_blocks(Kind::residual_add);
}

}  // namespace

std::vector<LayerPart> layer_parts(const Transformer& model, LayerKind kind, bool sends_latents) {
  if (kind == LayerKind::expert && !model.has_experts())
    throw std::invalid_argument(model.name + " has no layers with experts");
  PartList list{.model = model};
  add_attention_block(list, sends_latents);
  list.input_norm();
  list.modules.add(kind == LayerKind::expert ? LayerModule::moe : LayerModule::mlp);
  if (kind == LayerKind::expert) {
    add_routed_experts(list);
    add_shared_experts(list);
  } else {
    add_split_mlp(list, {"gate", "up", "down"}, model.ffn_size);
  }
  list.modules = {};
  list.add_output();
  return list.parts;
}

}  // namespace packsim
