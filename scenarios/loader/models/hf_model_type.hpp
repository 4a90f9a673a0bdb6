#pragma once

#include <string_view>

#include "scenarios/loader/json/json_reader.hpp"

namespace packsim {

/// Which layers of a Hugging Face model have a sliding window if the config has no layer_types, which decides
/// otherwise.
enum class HfWindow {
  none,
  all,           ///< all layers, if sliding_window is a number
  all_switched,  ///< the same, if use_sliding_window is true as well
  /// The layers from max_window_layers on, under the condition of all_switched.
  late_switched,
  /// All but every so many, if sliding_window is a number: the last of each full_every layers has none.
  all_but_every,
  /// Layers that layer_types must list, because versions of transformers do not agree on which they are;
  /// under the condition of all_switched.
  listed,
};

/// How a Hugging Face model spells its mixture of experts.
enum class HfExperts { none, mixtral, qwen, deepseek };

/// A model type of transformers whose layers are RMSNorm, attention, RMSNorm, and gated MLP or experts. What
/// else they have is small: attention sinks and biases of experts and of the output projection (gpt_oss),
/// and a rotary embedding of half of each head (glm4_moe), which is timed as of all of it.
struct HfModelType {
  std::string_view name = {};
  bool qkv_bias = false;  ///< if no key of the config says otherwise
  bool qk_norm = false;
  bool qk_norm_has_key = false;  ///< use_qk_norm says it instead
  bool output_norms = false;
  bool fused_projections = false;
  bool tied_embeddings = false;     ///< if no key says otherwise
  bool kv_heads_are_heads = false;  ///< if no key gives their number; false: a key must give it
  int head_dim = 0;                 ///< if no key gives it; 0: hidden_size / heads
  int vocab_size = 0;               ///< if no key gives it; 0: a key must give it
  HfWindow window = HfWindow::none;
  int full_every = 0;     ///< only for all_but_every, if no key gives it
  int window_tokens = 0;  ///< if no key gives it
  HfExperts experts = HfExperts::none;
  bool has_shared_expert = false;  ///< has a shared expert with a gate, as in Qwen2-MoE
  bool has_latent_attention = false;
};

/// The type that the config names, or null if packsim does not know it, which is then in the reader's
/// problems.
const HfModelType* read_hf_model_type(JsonReader& reader);

/// Refuses keys that describe something which the type does not have, such as experts in a LLaMA, or which is
/// not modelled.
void refuse_foreign_keys(JsonReader& reader, const HfModelType& type);

/// True unless the value is missing, null, false or 0.
bool says_something(const Json* value);

}  // namespace packsim
