#include "models/kernels/linear_layers.hpp"

namespace packsim {

std::vector<LinearLayer> linear_layers(const Transformer& model) {
  const std::int64_t hidden = model.hidden_size;
  const std::int64_t query = std::int64_t{model.n_heads} * model.head_dim;
  const std::int64_t key_value = std::int64_t{model.n_kv_heads} * model.head_dim;
  const std::int64_t ffn = model.ffn_size;
  return {{.out = query, .in = hidden},
          {.out = key_value, .in = hidden},
          {.out = key_value, .in = hidden},
          {.out = hidden, .in = query, .splits_in = true},
          {.out = ffn, .in = hidden},
          {.out = ffn, .in = hidden},
          {.out = hidden, .in = ffn, .splits_in = true}};
}

LinearLayer head_layer(const Transformer& model) {
  return {.out = model.vocab_size, .in = model.hidden_size};
}

}  // namespace packsim
