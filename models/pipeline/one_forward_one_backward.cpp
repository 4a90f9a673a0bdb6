#include <algorithm>

#include "models/pipeline/pipeline_schedule.hpp"

namespace packsim {
namespace {

// The stage runs a forward pass for each stage behind it, and then one forward and one backward pass in turn:
// it holds no more micro-batches than there are stages from it to the last.
int forwards_before_first_backward(const PipelineShape& shape, int stage) {
  return std::min(shape.n_stages - stage - 1, shape.n_micro_batches);
}

std::vector<PipelinePass> one_forward_one_backward_order(const PipelineShape& shape, int stage) {
  const int n_ahead = forwards_before_first_backward(shape, stage);
  std::vector<PipelinePass> order;
  for (int i = 0; i < n_ahead; ++i) order.push_back({.micro_batch = i});
  for (int i = 0; i < shape.n_micro_batches; ++i) {
    if (n_ahead + i < shape.n_micro_batches) order.push_back({.micro_batch = n_ahead + i});
    order.push_back({.micro_batch = i, .is_forward = false});
  }
  return order;
}

int one_forward_one_backward_in_flight(const PipelineShape& shape, int stage) {
  return std::min(shape.n_stages - stage, shape.n_micro_batches);
}

}  // namespace

extern const PipelineSchedule kOneForwardOneBackward;
const PipelineSchedule kOneForwardOneBackward = {
    .name = "1f1b",
    .summary = "one forward and one backward pass in turn, once the pipeline is full",
    .source = "PipeDream-Flush, Narayanan et al., arXiv 2006.09503",
    .order = one_forward_one_backward_order,
    .chunks_in_flight = one_forward_one_backward_in_flight,
};

}  // namespace packsim
