#pragma once

#include "models/transformer.hpp"
#include "scenarios/loader/json/json_reader.hpp"

namespace packsim {

/// The latent and the widths of the heads that are made from it, which our model files and those of Hugging
/// Face name alike; q_lora_rank may be left out in a way of its own in each, and is the caller's to read.
LatentAttention read_latent(JsonReader& reader, int q_lora_rank);

}  // namespace packsim
