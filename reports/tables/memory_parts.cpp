#include "reports/tables/memory_parts.hpp"

#include <array>

namespace packsim::formats_detail {

std::span<const MemoryPart> memory_parts() {
  using Peak = MemoryPeak;
  static constexpr std::array<MemoryPart, 6> kParts = {
      {{"states", [](const Peak& p) { return p.weights_bytes + p.gradients_bytes + p.optimizer_bytes; }},
       {"activations",
        [](const Peak& p) { return p.activations_bytes + p.recomputed_bytes + p.activation_gradient_bytes; }},
       {"checkpoints", [](const Peak& p) { return p.checkpoints_bytes; }},
       {"logits", [](const Peak& p) { return p.logits_bytes; }},
       {"buffers",
        [](const Peak& p) {
          return p.gathered_weights_bytes + p.bucket_bytes + p.exchange_bytes + p.workspace_bytes;
        }},
       {"reserved", [](const Peak& p) { return p.reserved_bytes; }}}};
  return kParts;
}

}  // namespace packsim::formats_detail
