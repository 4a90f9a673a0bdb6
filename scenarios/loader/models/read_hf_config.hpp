#pragma once


#include "models/transformer.hpp"
#include "scenarios/loader/json/json_reader.hpp"

namespace packsim {

/// True for a Hugging Face config.json rather than one of our model files.
bool is_hf_config(const JsonReader& reader);

/// The sizes in a Hugging Face config.json of a decoder with gated MLPs and RMSNorm: LLaMA, Mistral, Phi-3,
/// Qwen2, Qwen3, Mixtral, Qwen2-MoE, Qwen3-MoE, DeepSeek-V2, DeepSeek-V3, GLM-4.5, gpt-oss, the text part of
/// Gemma 3, and what says the same under their model_type. Defaults are those of transformers; keys that
/// sizes do not depend on are let pass.
///
/// What packsim does not model is refused with the key that says so: encoders, dense layers between layers of
/// experts, biases of MLPs, other model types. Layers that predict further tokens (num_nextn_predict_layers)
/// are left out, as fine-tuning does, and so are the attention sinks of gpt-oss and the biases of its output
/// projection, router and experts. The model's name is the config's `_name_or_path`, else that of the file's
/// folder; published_parameters is not stated. Leaves what is wrong in the reader's problems.
Transformer read_hf_config(JsonReader reader);

}  // namespace packsim
