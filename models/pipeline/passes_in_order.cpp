#include "models/pipeline/passes_in_order.hpp"

#include <stdexcept>

namespace packsim {

std::vector<OrderedPass> passes_in_order(const PipelineSchedule& schedule, const PipelineShape& shape) {
  const auto n_stages = static_cast<std::size_t>(shape.n_stages);
  const auto n_micro_batches = static_cast<std::size_t>(shape.n_micro_batches);
  const std::size_t n_chunks = n_stages * static_cast<std::size_t>(shape.chunks_per_stage);
  std::vector<std::vector<PipelinePass>> orders;
  for (int stage = 0; stage < shape.n_stages; ++stage)
    orders.push_back(pipeline_order(schedule, shape, stage));

  std::vector<OrderedPass> passes;
  std::vector<std::size_t> latest(n_stages, OrderedPass::kNone);
  std::vector<std::size_t> next(n_stages);
  std::vector<std::size_t> places(2 * n_chunks * n_micro_batches, OrderedPass::kNone);
  const auto place = [&](std::size_t chunk, std::size_t micro_batch, bool is_forward) -> std::size_t& {
    return places[2 * (chunk * n_micro_batches + micro_batch) + (is_forward ? 0 : 1)];
  };
  while (passes.size() < places.size()) {
    const std::size_t n_before = passes.size();
    // The next pass of every stage whose input is there.
    for (std::size_t stage = 0; stage < n_stages; ++stage) {
      if (next[stage] == orders[stage].size()) continue;
      const PipelinePass& pass = orders[stage][next[stage]];
      const std::size_t chunk = static_cast<std::size_t>(pass.chunk) * n_stages + stage;
      const auto micro_batch = static_cast<std::size_t>(pass.micro_batch);
      const bool is_first = pass.is_forward && chunk == 0;
      std::size_t input = OrderedPass::kNone;
      if (!is_first) {
        // The last chunk's backward pass follows its own forward pass.
        const bool is_turn = !pass.is_forward && chunk + 1 == n_chunks;
        const std::size_t neighbour = is_turn ? chunk : pass.is_forward ? chunk - 1 : chunk + 1;
        input = place(neighbour, micro_batch, pass.is_forward || is_turn);
        if (input == OrderedPass::kNone) continue;
      }
      place(chunk, micro_batch, pass.is_forward) = passes.size();
      passes.push_back({micro_batch, chunk, pass.is_forward, input, latest[stage]});
      latest[stage] = passes.size() - 1;
      ++next[stage];
    }
    if (passes.size() == n_before) throw std::logic_error("a pipeline's stages wait for each other");
  }
  return passes;
}

}  // namespace packsim
