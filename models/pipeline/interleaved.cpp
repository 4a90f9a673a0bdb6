#include <algorithm>
#include <limits>

#include "models/pipeline/pipeline_schedule.hpp"

namespace packsim {
namespace {

// Micro-batches go through the chunks in rounds of n_stages: a round of the first chunk, the same round of
// the second, and so on. Backward passes go through the chunks from the last one on.
PipelinePass interleaved_pass(int index, const PipelineShape& shape, bool is_forward) {
  const int round = shape.n_stages * shape.chunks_per_stage;
  const int chunk = index % round / shape.n_stages;
  return {.micro_batch = index / round * shape.n_stages + index % shape.n_stages,
          .chunk = is_forward ? chunk : shape.chunks_per_stage - 1 - chunk,
          .is_forward = is_forward};
}

int forwards_before_alternating(const PipelineShape& shape, int stage) {
  return 2 * (shape.n_stages - stage - 1) + (shape.chunks_per_stage - 1) * shape.n_stages;
}

std::vector<PipelinePass> interleaved_order(const PipelineShape& shape, int stage) {
  const int n_passes = shape.n_micro_batches * shape.chunks_per_stage;
  const int n_ahead = std::min(forwards_before_alternating(shape, stage), n_passes);
  std::vector<PipelinePass> order;
  for (int i = 0; i < n_ahead; ++i) order.push_back(interleaved_pass(i, shape, true));
  for (int i = 0; i < n_passes; ++i) {
    if (n_ahead + i < n_passes) order.push_back(interleaved_pass(n_ahead + i, shape, true));
    order.push_back(interleaved_pass(i, shape, false));
  }
  return order;
}

// The first stage has n_layers (1 + (n_stages - 1) / (n_stages chunks_per_stage)) layers in flight, as
// Korthikanti et al. have it (arXiv 2205.05198, section 4.2.3).
int interleaved_in_flight(const PipelineShape& shape, int stage) {
  return std::min(forwards_before_alternating(shape, stage) + 1,
                  shape.n_micro_batches * shape.chunks_per_stage);
}

}  // namespace

extern const PipelineSchedule kInterleaved;
const PipelineSchedule kInterleaved = {
    .name = "interleaved",
    .summary = "1F1B over several chunks of layers a stage, which shortens filling and draining",
    .source = "Narayanan et al., arXiv 2104.04473, section 2.2",
    .fewest_chunks = 2,
    .most_chunks = std::numeric_limits<int>::max(),
    .needs_full_rounds = true,
    .order = interleaved_order,
    .chunks_in_flight = interleaved_in_flight,
};

}  // namespace packsim
