#pragma once

#include <string>

#include "models/transformer.hpp"
#include "scenarios/loader/json_reader.hpp"

namespace packsim {

/// True for a Hugging Face config.json rather than one of our model files.
bool is_hf_config(const JsonReader& reader);

/// The sizes in a Hugging Face config.json of a dense decoder with gated MLPs and RMSNorm: LLaMA, Mistral,
/// Qwen2, Qwen3 and what says the same in the same keys. Keys that sizes do not depend on are let pass.
///
/// What packsim cannot price yet is refused with the key that says so: mixtures of experts, latent attention,
/// sliding windows, encoders, and other model types. Leaves what is wrong in the reader's problems. The
/// model's name is the config's `_name_or_path`, else that of the file's folder; published_parameters is 0.
Transformer read_hf_config(JsonReader reader);

}  // namespace packsim
