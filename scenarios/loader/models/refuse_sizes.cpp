#include "scenarios/loader/models/refuse_sizes.hpp"

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

}  // namespace packsim
