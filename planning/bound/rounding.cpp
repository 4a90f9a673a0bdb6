#include "planning/bound/rounding.hpp"

#include <cstddef>

namespace packsim {

double rounding_s(const MicroBatchPrice& price, const std::vector<ChunkShape>& chunks) {
  // Of each stage of a phase.
  constexpr double kRoundingS = 1e-9;
  std::size_t n = 0;
  for (const ChunkShape& chunk : chunks) {
    const TokenPrices& tokens = *price.tokens;
    for (const PricedPhase* edge :
         {&tokens.embedding_forward, &tokens.embedding_backward, &tokens.head_forward, &tokens.head_backward})
      n += edge->stages.size();
    for (const LayerKind kind : {LayerKind::dense, LayerKind::expert}) {
      const LayerPrices& layer = tokens.layers[static_cast<std::size_t>(kind)];
      const std::size_t of_layer =
          layer.forward.stages.size() + layer.recompute.stages.size() + layer.backward.stages.size();
      n += static_cast<std::size_t>(chunk.n_layers_of(kind)) * of_layer;
    }
    // Attention, a step of a ring each, and layers with a window.
    const int steps = price.attention_forward.steps;
    n += static_cast<std::size_t>(3 * chunk.n_layers() * (steps > 1 ? steps + 1 : 1));
  }
  return kRoundingS * static_cast<double>(n);
}

}  // namespace packsim
