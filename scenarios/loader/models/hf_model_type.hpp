#pragma once

#include <string_view>

#include "scenarios/loader/json/json_reader.hpp"

namespace packsim {

/// Which layers of a Hugging Face model have a sliding window.
enum class HfWindow {
  none,
  all,            ///< where sliding_window is a number
  all_switched,   ///< where use_sliding_window is true besides
  late_switched,  ///< then those from max_window_layers on
  listed,         ///< then those that layer_types says, as transformers' versions do not agree on others
};

/// How a Hugging Face model spells its mixture of experts.
enum class HfExperts { none, mixtral, qwen, deepseek };

/// A model type of transformers whose layers are exactly RMSNorm, attention, RMSNorm, and gated MLP or
/// experts.
struct HfModelType {
  std::string_view name = {};
  bool qkv_bias = false;  ///< where no key says it
  bool qk_norm = false;
  bool kv_heads_are_heads = false;  ///< where no key says how many there are; else a key has to
  int head_dim = 0;                 ///< where no key says it; 0: hidden_size / heads
  HfWindow window = HfWindow::none;
  int window_tokens = 0;  ///< where no key says it
  HfExperts experts = HfExperts::none;
  bool has_shared_expert = false;  ///< with a gate, of Qwen2-MoE
  bool has_latent_attention = false;
};

/// The type that the config names. Null where it is none of those, which is then in the reader's problems.
const HfModelType* read_hf_model_type(JsonReader& reader);

/// Refuses keys that say what the type does not have, such as experts in a LLaMA, or what is not modelled.
void refuse_foreign_keys(JsonReader& reader, const HfModelType& type);

/// True unless the value is missing, null, false or 0.
bool says_something(const Json* value);

}  // namespace packsim
