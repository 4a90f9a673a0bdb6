#include "scenarios/loader/models/read_latent.hpp"

#include "scenarios/loader/models/model_limits.hpp"

namespace packsim {

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
