#include <fmt/format.h>

#include "scenarios/loader/models/model_limits.hpp"
#include "scenarios/loader/models/model_parts.hpp"
#include "scenarios/loader/models/read_hf_config.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

void read_window(JsonReader reader, Transformer& model, int most_layers) {
  if (reader.silent()) return;
  model.sliding_window_tokens = reader.integer("tokens", 1, kWidest);
  model.n_windowed_layers = reader.integer("layers", 1, most_layers);
}

LatentAttention read_latent_member(JsonReader reader) {
  if (reader.silent()) return {};
  return read_latent(reader, reader.integer("q_lora_rank", 0, kWidest, 0));
}

Experts read_experts(JsonReader reader, int most_layers) {
  if (reader.silent()) return {};
  const std::size_t before = reader.n_problems();
  const Experts experts{.n_routed = reader.integer("routed", 1, kMostExperts),
                        .per_token = reader.integer("per_token", 1, kMostExperts),
                        .ffn_size = reader.integer("ffn_size", 1, kWidest),
                        .shared_ffn_size = reader.integer("shared_ffn_size", 0, kWidest, 0),
                        .shared_gate = reader.boolean("shared_gate", false),
                        .n_dense_layers = reader.integer("dense_layers", 0, most_layers, 0),
                        .n_groups = reader.integer("groups", 1, kMostExperts, 1),
                        .groups_per_token = reader.integer("groups_per_token", 1, kMostExperts, 1)};
  if (reader.n_problems() != before) return experts;
  if (experts.per_token > experts.n_routed)
    reader.refuse("per_token", fmt::format("at most the {} routed experts", experts.n_routed));
  if (reader.n_problems() == before) refuse_groups(reader, experts, "groups", "groups_per_token");
  if (experts.shared_gate && experts.shared_ffn_size == 0)
    reader.refuse("shared_gate", "false without shared experts");
  return experts;
}

void check_heads(JsonReader& reader, const Transformer& model) {
  if (!model.has_latent_attention()) {
    if (model.n_heads % model.n_kv_heads != 0)
      reader.refuse("kv_heads", fmt::format("a divisor of the {} heads", model.n_heads));
    return;
  }
  if (model.n_kv_heads != model.n_heads)
    reader.refuse("kv_heads",
                  fmt::format("the {} heads, as latent attention has keys for each", model.n_heads));
  const int head_dim = model.latent.qk_nope_head_dim + model.latent.qk_rope_head_dim;
  if (model.head_dim != head_dim)
    reader.refuse("head_dim", fmt::format("{}, both parts of a query of latent attention", head_dim));
  if (model.qk_norm) reader.refuse("qk_norm", "false with latent attention");
  if (model.qkv_bias) reader.refuse("qkv_bias", "false with latent attention");
  if (model.fused_projections) reader.refuse("fused_projections", "false with latent attention");
}

void check_experts(JsonReader& reader, const Transformer& model) {
  if (model.fused_projections && model.has_experts())
    reader.refuse("fused_projections", "false with experts");
}

}  // namespace

Transformer read_model(JsonReader reader) {
  if (is_hf_config(reader)) return read_hf_config(std::move(reader));
  const std::size_t before = reader.n_problems();
  reader.integer("format", 1, 1);
  reader.string("$schema", "");  // for editors
  Transformer model{.name = reader.string("name"),
                    .source = reader.string("source"),
                    .n_layers = reader.integer("layers", 1, kMostLayers),
                    .hidden_size = reader.integer("hidden_size", 1, kWidest),
                    .n_heads = reader.integer("heads", 1, kWidest),
                    .n_kv_heads = reader.integer("kv_heads", 1, kWidest),
                    .head_dim = reader.integer("head_dim", 1, kWidest),
                    .ffn_size = reader.integer("ffn_size", 1, kWidest),
                    .vocab_size = reader.integer("vocab_size", 1, kWidest),
                    .tied_embeddings = reader.boolean("tied_embeddings"),
                    .qkv_bias = reader.boolean("qkv_bias"),
                    .qk_norm = reader.boolean("qk_norm", false),
                    .output_norms = reader.boolean("output_norms", false),
                    .fused_projections = reader.boolean("fused_projections", false)};
  // 0: the publisher does not say.
  const double published_parameters = reader.number("published_parameters", 0);
  if (published_parameters > 0) model.published_parameters = published_parameters;
  const int most_layers = reader.n_problems() == before ? model.n_layers : kMostLayers;
  read_window(reader.optional_object("sliding_window"), model, most_layers);
  model.latent = read_latent_member(reader.optional_object("latent_attention"));
  model.experts = read_experts(reader.optional_object("experts"), most_layers);
  if (reader.n_problems() == before) check_heads(reader, model);
  if (reader.n_problems() == before) check_experts(reader, model);
  if (reader.n_problems() == before) refuse_sizes(reader, model, "heads");
  return model;
}

}  // namespace packsim
