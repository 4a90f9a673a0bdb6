#include "scenarios/loader/read_hf_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

namespace packsim {
namespace {

// The same limits as for our own model files.
constexpr int kMostLayers = 4096;
constexpr int kWidest = 1 << 24;

// Decoders whose layers are exactly: RMSNorm, q, k, v, o, RMSNorm, gate, up, down.
struct ModelType {
  std::string_view name;
  bool qkv_bias = false;  // where no key says it
};
constexpr std::array<ModelType, 4> kModelTypes = {{
    {"llama"},
    {"mistral"},
    {"qwen2", true},
    {"qwen3"},
}};

// Keys that mean something else than a dense decoder where they hold a number over 0, or true.
struct ForeignKey {
  std::string_view key;
  std::string_view meaning;
};
constexpr std::array<ForeignKey, 9> kForeignKeys = {{
    {"num_local_experts", "mixtures of experts are not modelled"},
    {"num_experts", "mixtures of experts are not modelled"},
    {"n_routed_experts", "mixtures of experts are not modelled"},
    {"moe_intermediate_size", "mixtures of experts are not modelled"},
    {"kv_lora_rank", "multi-head latent attention is not modelled"},
    {"q_lora_rank", "multi-head latent attention is not modelled"},
    {"is_encoder_decoder", "encoder-decoders are not modelled"},
    {"encoder_layers", "encoder-decoders are not modelled"},
    {"num_encoder_layers", "encoder-decoders are not modelled"},
}};

bool says_something(const Json* value) {
  if (value == nullptr || value->is_null()) return false;
  if (value->is_boolean()) return value->get<bool>();
  return !(value->is_number() && value->get<double>() == 0);
}

void refuse_foreign_keys(JsonReader& reader) {
  for (const ForeignKey& foreign : kForeignKeys) {
    if (says_something(reader.value(foreign.key)))
      reader.refuse(foreign.key, fmt::format("none: {}", foreign.meaning));
  }
  if (reader.value("text_config") != nullptr)
    reader.refuse("text_config", "none: of models with several parts, give the text part alone",
                  "a nested configuration");
}

void refuse_sliding_window(JsonReader& reader, const std::string& model_type) {
  constexpr std::string_view kNone = "none: sliding-window attention is not modelled";
  // Qwen writes a window down even where it is switched off.
  const Json* is_used = reader.value("use_sliding_window");
  const bool is_off = is_used == nullptr ? model_type.starts_with("qwen") : !says_something(is_used);
  if (!is_off && says_something(reader.value("sliding_window")))
    reader.refuse("sliding_window", std::string(kNone));
  const Json* types = reader.value("layer_types");
  if (types == nullptr || !types->is_array()) return;
  const auto other = std::ranges::find_if(*types, [](const Json& type) { return type != "full_attention"; });
  if (other != types->end()) {
    reader.refuse("layer_types", "full_attention in every layer: other kinds are not modelled",
                  describe(*other));
  }
}

ModelType read_model_type(JsonReader& reader) {
  std::vector<std::string> names;
  for (const ModelType& type : kModelTypes) names.emplace_back(type.name);
  return kModelTypes[reader.one_of("model_type", names)];
}

// A size that null or nothing leaves to `fallback`; 0 stands for a fallback that is unknown.
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

}  // namespace

bool is_hf_config(const JsonReader& reader) {
  return !reader.has("format") && (reader.has("model_type") || reader.has("architectures"));
}

Transformer read_hf_config(JsonReader reader) {
  reader.allow_any_keys();
  const std::size_t before = reader.n_problems();
  refuse_foreign_keys(reader);
  const ModelType type = read_model_type(reader);
  refuse_sliding_window(reader, std::string(type.name));
  if (reader.value("hidden_act") != nullptr) {
    const std::vector<std::string> kGated = {"silu", "swish"};
    reader.one_of("hidden_act", kGated);
  }

  Transformer model;
  model.name = read_name(reader);
  model.source = "Hugging Face config.json";
  model.n_layers = reader.integer("num_hidden_layers", 1, kMostLayers);
  model.hidden_size = reader.integer("hidden_size", 1, kWidest);
  model.n_heads = reader.integer("num_attention_heads", 1, kWidest);
  model.n_kv_heads = size_or(reader, "num_key_value_heads", model.n_heads);
  model.head_dim = size_or(reader, "head_dim", 0);
  model.ffn_size = reader.integer("intermediate_size", 1, kWidest);
  model.vocab_size = reader.integer("vocab_size", 1, kWidest);
  model.tied_embeddings = flag_or(reader, "tie_word_embeddings", false);
  model.qkv_bias = flag_or(reader, "attention_bias", type.qkv_bias);
  if (reader.n_problems() != before) return model;

  if (model.n_heads % model.n_kv_heads != 0)
    reader.refuse("num_key_value_heads", fmt::format("a divisor of the {} heads", model.n_heads));
  if (model.head_dim == 0) {
    model.head_dim = std::max(1, model.hidden_size / model.n_heads);
    if (model.head_dim * model.n_heads != model.hidden_size)
      reader.refuse("hidden_size", fmt::format("a multiple of the {} heads, or a head_dim", model.n_heads));
  }
  return model;
}

}  // namespace packsim
