#pragma once

#include "models/transformer.hpp"
#include "scenarios/loader/models/hf_model_type.hpp"

namespace packsim {

// Each reads one part of what the layers of a Hugging Face config.json are, and leaves what is wrong in the
// reader's problems.

/// sliding_window, use_sliding_window, max_window_layers and layer_types, into the window of the model.
void read_hf_window(JsonReader& reader, const HfModelType& type, Transformer& model);

/// The latent and the widths of the heads that are made from it.
LatentAttention read_hf_latent(JsonReader& reader);

/// The experts, n_routed 0 where the config says that the model is dense after all. Layers with a dense MLP
/// are refused unless they are the first ones.
Experts read_hf_experts(JsonReader& reader, const HfModelType& type, const Transformer& model);

}  // namespace packsim
