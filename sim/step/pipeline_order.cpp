#include "sim/step/pipeline_order.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace packsim {
namespace {

void check(int n_stages, int stage, int virtual_stages, int n_micro_batches) {
  if (n_stages < 1 || stage < 0 || stage >= n_stages || virtual_stages < 1 || n_micro_batches < 0)
    throw std::invalid_argument("expected a stage of a pipeline, got stage " + std::to_string(stage) +
                                " of " + std::to_string(n_stages));
  if (virtual_stages > 1 && n_micro_batches % n_stages != 0) {
    throw std::invalid_argument("interleaved pipeline: expected a multiple of the " +
                                std::to_string(n_stages) + " stages, got " + std::to_string(n_micro_batches) +
                                " micro-batches a rank");
  }
}

// The k-th pass of a kind. Backward passes go through the chunks from the last one on.
PipelinePass pass(int k, int n_stages, int virtual_stages, bool is_forward) {
  const int round = n_stages * virtual_stages;
  const int chunk = k % round / n_stages;
  return {.micro_batch = k / round * n_stages + k % n_stages,
          .chunk = is_forward ? chunk : virtual_stages - 1 - chunk,
          .is_forward = is_forward};
}

}  // namespace

std::vector<PipelinePass> pipeline_order(int n_stages, int stage, int virtual_stages, int n_micro_batches) {
  check(n_stages, stage, virtual_stages, n_micro_batches);
  const int n_passes = n_micro_batches * virtual_stages;
  const int behind = n_stages - stage - 1;
  const int n_warm_up =
      std::min(n_passes, virtual_stages == 1 ? behind : 2 * behind + (virtual_stages - 1) * n_stages);
  // With one stage every pass is of the next micro-batch, whatever the rounds.
  const int width = virtual_stages == 1 ? 1 : n_stages;
  std::vector<PipelinePass> order;
  order.reserve(2 * static_cast<std::size_t>(n_passes));
  for (int k = 0; k < n_warm_up; ++k) order.push_back(pass(k, width, virtual_stages, true));
  for (int k = 0; k < n_passes; ++k) {
    if (n_warm_up + k < n_passes) order.push_back(pass(n_warm_up + k, width, virtual_stages, true));
    order.push_back(pass(k, width, virtual_stages, false));
  }
  return order;
}

}  // namespace packsim
