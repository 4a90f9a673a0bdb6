#pragma once

#include <string_view>

#include "models/transformer.hpp"
#include "scenarios/loader/json/json_reader.hpp"

namespace packsim {

/// Reports sizes of a model that are too large together: bytes of its tensors and counts of its parameters
/// would leave 64 bits. heads_key: of the heads, in the file.
void refuse_sizes(JsonReader& reader, const Transformer& model, std::string_view heads_key);

/// Refuses groups of experts that cannot be: that do not divide the experts, or too few for those of a token.
/// The keys are those of n_groups and groups_per_token.
void refuse_groups(JsonReader& reader, const Experts& experts, std::string_view groups_key,
                   std::string_view per_token_key);

/// The latent and the widths of the heads that are made from it, which our model files and those of Hugging
/// Face name alike; q_lora_rank may be left out in a way of its own in each, and is the caller's to read.
LatentAttention read_latent(JsonReader& reader, int q_lora_rank);

}  // namespace packsim
