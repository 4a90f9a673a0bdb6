#include "models/pipeline/pipeline_schedule.hpp"

namespace packsim {
namespace {

// All forward passes of the step, and then all backward passes, both in the order of the micro-batches, as
// torch's ScheduleGPipe runs them. The paper draws the backward passes from the last micro-batch to the
// first, which takes as long where all cost the same.
std::vector<PipelinePass> gpipe_order(const PipelineShape& shape, int) {
  std::vector<PipelinePass> order;
  for (int i = 0; i < shape.n_micro_batches; ++i) order.push_back({.micro_batch = i});
  for (int i = 0; i < shape.n_micro_batches; ++i) order.push_back({.micro_batch = i, .is_forward = false});
  return order;
}

int gpipe_in_flight(const PipelineShape& shape, int) {
  return shape.n_micro_batches;
}

}  // namespace

extern const PipelineSchedule kGpipe;
const PipelineSchedule kGpipe = {
    .name = "gpipe",
    .summary = "all forward passes, then all backward passes: every stage holds all micro-batches of a step",
    .source = "Huang et al., arXiv 1811.06965, section 2.3",
    .order = gpipe_order,
    .chunks_in_flight = gpipe_in_flight,
};

}  // namespace packsim
