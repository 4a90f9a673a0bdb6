#include <array>
#include <stdexcept>
#include <string>

#include "models/pipeline/pipeline_schedule.hpp"

namespace packsim {

// Each row is in the file of its name.
extern const PipelineSchedule kOneForwardOneBackward;
extern const PipelineSchedule kInterleaved;
extern const PipelineSchedule kGpipe;

namespace {

constexpr std::array<const PipelineSchedule*, 3> kPipelineSchedules = {&kOneForwardOneBackward, &kInterleaved,
                                                                       &kGpipe};

void check_shape(const PipelineSchedule& schedule, const PipelineShape& shape, int stage) {
  const int chunks = shape.chunks_per_stage;
  if (shape.n_stages < 1 || stage < 0 || stage >= shape.n_stages || shape.n_micro_batches < 0 ||
      chunks < schedule.fewest_chunks || chunks > schedule.most_chunks) {
    throw std::invalid_argument("expected a stage of a pipeline, got stage " + std::to_string(stage) +
                                " of " + std::to_string(shape.n_stages));
  }
  if (schedule.needs_full_rounds && shape.n_micro_batches % shape.n_stages != 0) {
    throw std::invalid_argument(std::string(schedule.name) + " pipeline: expected a multiple of the " +
                                std::to_string(shape.n_stages) + " stages, got " +
                                std::to_string(shape.n_micro_batches) + " micro-batches a rank");
  }
}

}  // namespace

std::span<const PipelineSchedule* const> pipeline_schedules() {
  return kPipelineSchedules;
}

const PipelineSchedule& usual_schedule(int chunks_per_stage) {
  return chunks_per_stage > 1 ? kInterleaved : kOneForwardOneBackward;
}

std::vector<PipelinePass> pipeline_order(const PipelineSchedule& schedule, const PipelineShape& shape,
                                         int stage) {
  check_shape(schedule, shape, stage);
  return schedule.order(shape, stage);
}

}  // namespace packsim
