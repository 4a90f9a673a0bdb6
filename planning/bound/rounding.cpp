#include "planning/bound/rounding.hpp"

#include "models/step/pass/pass_list.hpp"

namespace packsim {

double rounding_s(const MicroBatchPrice& price, const std::vector<ChunkShape>& chunks) {
  // The most that a segment loses.
  constexpr double kRoundingS = 1e-9;
  const int steps = price.attention_forward.steps;
  // Attention of a layer is rounded in each step of a ring, and for layers with a window.
  const int n_attention = steps > 1 ? steps + 1 : 1;
  std::int64_t n = 0;
  for (ChunkShape chunk : chunks) {
    n += 3 * chunk.n_layers() * n_attention;
    // All layers count as checkpointed, and the chunk as having all parts, which is the most.
    chunk.n_checkpointed = chunk.n_layers();
    chunk.has_embedding = chunk.has_head = true;
    for (const bool is_forward : {true, false}) {
      const PassList pass(price, chunk, is_forward);
      pass.for_each_part([&](const PassPart& part) {
        pass.for_each_phase(part, [&](const PricedPhase& phase, const SegmentPlace&) {
          n += part.times * std::ssize(phase.segments);
        });
      });
    }
  }
  return kRoundingS * static_cast<double>(n);
}

}  // namespace packsim
