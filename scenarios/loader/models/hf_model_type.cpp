#include "scenarios/loader/models/hf_model_type.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace packsim {
namespace {

// Defaults of transformers' configuration classes.
constexpr std::array<HfModelType, 13> kModelTypes = {{
    {.name = "llama", .kv_heads_are_heads = true},
    {.name = "mistral", .window = HfWindow::all, .window_tokens = 4096},
    {.name = "phi3", .fused_projections = true, .kv_heads_are_heads = true, .window = HfWindow::all},
    {.name = "qwen2", .qkv_bias = true, .window = HfWindow::late_switched, .window_tokens = 4096},
    {.name = "qwen3",
     .qk_norm = true,
     .head_dim = 128,
     .window = HfWindow::late_switched,
     .window_tokens = 4096},
    {.name = "mixtral", .window = HfWindow::all, .experts = HfExperts::mixtral},
    {.name = "qwen2_moe",
     .qkv_bias = true,
     .window = HfWindow::listed,
     .window_tokens = 4096,
     .experts = HfExperts::qwen,
     .has_shared_expert = true},
    {.name = "qwen3_moe",
     .qk_norm = true,
     .window = HfWindow::all_switched,
     .window_tokens = 4096,
     .experts = HfExperts::qwen},
    {.name = "deepseek_v2",
     .kv_heads_are_heads = true,
     .experts = HfExperts::deepseek,
     .has_latent_attention = true},
    {.name = "deepseek_v3",
     .kv_heads_are_heads = true,
     .experts = HfExperts::deepseek,
     .has_latent_attention = true},
    {.name = "glm4_moe", .qk_norm_has_key = true, .experts = HfExperts::deepseek},
    {.name = "gpt_oss",
     .qkv_bias = true,
     .head_dim = 64,
     .window = HfWindow::all_but_every,
     .full_every = 2,
     .window_tokens = 128,
     .experts = HfExperts::mixtral},
    {.name = "gemma3_text",
     .qk_norm = true,
     .output_norms = true,
     .tied_embeddings = true,
     .head_dim = 256,
     .vocab_size = 262208,
     .window = HfWindow::all_but_every,
     .full_every = 6,
     .window_tokens = 4096},
}};

// Well-known types with layers of another structure.
struct OtherType {
  std::string_view name;
  std::string_view reason;
};
constexpr std::array<OtherType, 2> kOtherTypes = {{
    {"gemma2", "its scores are capped"},
    {"gemma3", "it reads images too: its text part is of type gemma3_text"},
}};

}  // namespace

bool says_something(const Json* value) {
  if (value == nullptr || value->is_null()) return false;
  if (value->is_boolean()) return value->get<bool>();
  return !(value->is_number() && value->get<double>() == 0);
}

const HfModelType* read_hf_model_type(JsonReader& reader) {
  const Json* named = reader.value("model_type");
  for (const OtherType& other : kOtherTypes) {
    if (named == nullptr || *named != other.name) continue;
    reader.refuse("model_type", fmt::format("another type, as {}", other.reason));
    return nullptr;
  }
  return reader.row_of("model_type", kModelTypes);
}

void refuse_foreign_keys(JsonReader& reader, const HfModelType& type) {
  const auto refuse = [&](bool is_foreign, std::string_view key, const std::string& reason) {
    if (is_foreign && says_something(reader.value(key))) reader.refuse(key, "none: " + reason);
  };
  const std::string name(type.name);
  const bool mixtral = type.experts == HfExperts::mixtral;
  const bool qwen = type.experts == HfExperts::qwen;
  const bool deepseek = type.experts == HfExperts::deepseek;
  const std::string no_experts = name + " has no experts of that name";
  refuse(!qwen && !mixtral, "num_local_experts", no_experts);
  refuse(!qwen, "num_experts", no_experts);
  refuse(!deepseek, "n_routed_experts", no_experts);
  refuse(!qwen && !deepseek, "moe_intermediate_size", no_experts);
  for (const std::string_view key : {"kv_lora_rank", "q_lora_rank"})
    refuse(!type.has_latent_attention, key, name + " has no latent attention");
  refuse(type.has_latent_attention, "attention_bias", "biases of latent attention are not modelled");
  refuse(true, "mlp_bias", "biases of the MLP are not modelled");
  for (const std::string_view key : {"attn_logit_softcapping", "final_logit_softcapping"})
    refuse(true, key, "capped scores are not modelled");
  refuse(true, "use_bidirectional_attention", "attention to later tokens is not modelled");
  for (const std::string_view key : {"is_encoder_decoder", "encoder_layers", "num_encoder_layers"})
    refuse(true, key, "encoder-decoders are not modelled");
}

}  // namespace packsim
