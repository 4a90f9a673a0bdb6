#include "scenarios/loader/models/model_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "scenarios/loader/models/model_limits.hpp"

namespace packsim {

void refuse_sizes(JsonReader& reader, const Transformer& model, std::string_view heads_key) {
  const std::int64_t head_dim = std::max(model.head_dim, model.value_head_dim());
  if (model.n_heads * head_dim > kWidest) {
    reader.refuse(heads_key, fmt::format("heads that are at most {} wide together", kWidest),
                  fmt::format("{} of {}", model.n_heads, head_dim));
  }
  if (model.experts.per_token * std::int64_t{model.hidden_size} > kWidestOfExperts) {
    reader.refuse("hidden_size",
                  fmt::format("at most {} for all experts of a token together", kWidestOfExperts),
                  fmt::format("{} for each of {}", model.hidden_size, model.experts.per_token));
  }
  if (model.parameters() > kMostParameters) {
    reader.refuse("hidden_size", fmt::format("at most {:.0f} parameters in all", kMostParameters),
                  fmt::format("{:.3g}", model.parameters()));
  }
}

void refuse_groups(JsonReader& reader, const Experts& experts, std::string_view groups_key,
                   std::string_view per_token_key) {
  if (experts.n_routed % experts.n_groups != 0) {
    reader.refuse(groups_key, fmt::format("a divisor of the {} routed experts", experts.n_routed));
  } else if (experts.groups_per_token > experts.n_groups) {
    reader.refuse(per_token_key, fmt::format("at most the {} groups", experts.n_groups));
  } else if (experts.per_token > experts.groups_per_token * (experts.n_routed / experts.n_groups)) {
    reader.refuse(per_token_key, fmt::format("enough groups of {} for the {} experts of a token",
                                             experts.n_routed / experts.n_groups, experts.per_token));
  }
}

LatentAttention read_latent(JsonReader& reader, int q_lora_rank) {
  const std::size_t before = reader.n_problems();
  const LatentAttention latent{.q_lora_rank = q_lora_rank,
                               .kv_lora_rank = reader.integer("kv_lora_rank", 1, kWidest),
                               .qk_nope_head_dim = reader.integer("qk_nope_head_dim", 1, kWidest),
                               .qk_rope_head_dim = reader.integer("qk_rope_head_dim", 2, kWidest),
                               .v_head_dim = reader.integer("v_head_dim", 1, kWidest)};
  if (reader.n_problems() == before && latent.qk_rope_head_dim % 2 != 0)
    reader.refuse("qk_rope_head_dim", "even, as rotations turn pairs");
  return latent;
}

}  // namespace packsim
