#include "scenarios/loader/models/read_hf_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "scenarios/loader/models/hf_layers.hpp"
#include "scenarios/loader/models/hf_model_type.hpp"
#include "scenarios/loader/models/model_limits.hpp"
#include "scenarios/loader/models/model_parts.hpp"

namespace packsim {
namespace {

// A size that null or nothing leaves to `fallback`; 0 stands for one that follows from other sizes.
int size_or(JsonReader& reader, std::string_view key, int fallback) {
  const Json* value = reader.value(key);
  if (value == nullptr || value->is_null()) return fallback;
  return reader.integer(key, 1, kWidest);
}

bool flag_or(JsonReader& reader, std::string_view key, bool fallback) {
  const Json* value = reader.value(key);
  return value == nullptr || value->is_null() ? fallback : reader.boolean(key);
}

std::string read_name(JsonReader& reader) {
  const Json* value = reader.value("_name_or_path");
  std::string name = value != nullptr && value->is_string() ? value->get<std::string>() : "";
  if (name.empty()) {
    const std::filesystem::path path = std::filesystem::absolute(reader.file()).lexically_normal();
    name = path.stem() == "config" ? path.parent_path().filename() : path.stem();
  }
  // Names stand in kernel cases, which have no spaces.
  std::ranges::replace_if(
      name, [](unsigned char c) { return c <= ' '; }, '_');
  return name;
}

// Heads and what they are made of.
void read_attention(JsonReader& reader, const HfModelType& type, Transformer& model) {
  model.n_heads = reader.integer("num_attention_heads", 1, kWidest);
  const bool may_be_missing = type.kv_heads_are_heads || reader.has("num_key_value_heads");
  model.n_kv_heads = may_be_missing ? size_or(reader, "num_key_value_heads", model.n_heads)
                                    : reader.integer("num_key_value_heads", 1, kWidest);
  if (type.has_latent_attention) {
    // Its head_dim, where there is one, is of the rotated part alone.
    model.latent = read_hf_latent(reader);
    model.head_dim = model.latent.qk_nope_head_dim + model.latent.qk_rope_head_dim;
    return;
  }
  model.head_dim = size_or(reader, "head_dim", type.head_dim);
  // Qwen2-MoE says it in a key of its own.
  model.qkv_bias = flag_or(reader, "qkv_bias", flag_or(reader, "attention_bias", type.qkv_bias));
  model.qk_norm = type.qk_norm_has_key ? flag_or(reader, "use_qk_norm", false) : type.qk_norm;
  model.output_norms = type.output_norms;
  model.fused_projections = type.fused_projections;
}

void check_hf_heads(JsonReader& reader, Transformer& model) {
  if (model.has_latent_attention()) {
    if (model.n_kv_heads != model.n_heads)
      reader.refuse("num_key_value_heads",
                    fmt::format("the {} heads, as latent attention has keys for each", model.n_heads));
    return;
  }
  if (model.n_heads % model.n_kv_heads != 0)
    reader.refuse("num_key_value_heads", fmt::format("a divisor of the {} heads", model.n_heads));
  if (model.head_dim == 0) {
    model.head_dim = std::max(1, model.hidden_size / model.n_heads);
    if (model.head_dim * model.n_heads != model.hidden_size)
      reader.refuse("hidden_size", fmt::format("a multiple of the {} heads, or a head_dim", model.n_heads));
  }
}

}  // namespace

bool is_hf_config(const JsonReader& reader) {
  return !reader.has("format") && (reader.has("model_type") || reader.has("architectures"));
}

Transformer read_hf_config(JsonReader reader) {
  reader.allow_any_keys();
  const std::size_t before = reader.n_problems();
  if (reader.value("text_config") != nullptr)
    reader.refuse("text_config", "none: of models with several parts, give the text part alone",
                  "a nested configuration");
  const HfModelType* known = read_hf_model_type(reader);
  const HfModelType type = known == nullptr ? HfModelType{.kv_heads_are_heads = true} : *known;
  if (known != nullptr) refuse_foreign_keys(reader, type);
  if (reader.value("hidden_act") != nullptr) {
    const std::vector<std::string> kGated = {"silu", "swish"};
    reader.one_of("hidden_act", kGated);
  }

  Transformer model;
  model.name = read_name(reader);
  model.source = "Hugging Face config.json";
  const std::size_t before_layers = reader.n_problems();
  model.n_layers = reader.integer("num_hidden_layers", 1, kMostLayers);
  const bool layers_are_known = reader.n_problems() == before_layers;
  model.hidden_size = reader.integer("hidden_size", 1, kWidest);
  read_attention(reader, type, model);
  model.ffn_size = reader.integer("intermediate_size", 1, kWidest);
  model.vocab_size = type.vocab_size > 0 ? size_or(reader, "vocab_size", type.vocab_size)
                                         : reader.integer("vocab_size", 1, kWidest);
  model.tied_embeddings = flag_or(reader, "tie_word_embeddings", type.tied_embeddings);
  if (known != nullptr && layers_are_known) {
    read_hf_window(reader, type, model);
    model.experts = read_hf_experts(reader, type, model);
  }
  if (reader.n_problems() == before) check_hf_heads(reader, model);
  if (reader.n_problems() == before) refuse_sizes(reader, model, "num_attention_heads");
  return model;
}

}  // namespace packsim
