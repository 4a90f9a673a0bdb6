#pragma once

#include <cstddef>
#include <vector>

#include "models/pipeline/pipeline_schedule.hpp"

namespace packsim {

/// A micro-batch's pass through a chunk, and the passes that it waits for.
struct OrderedPass {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t micro_batch = 0;
  std::size_t chunk = 0;  ///< in the order in which a micro-batch goes through the chunks
  bool is_forward = true;
  std::size_t input = kNone;   ///< index of the pass through the neighbouring chunk that gives it its input
  std::size_t before = kNone;  ///< index of the pass before it on its stage
};

/// All passes of a step through a pipeline, each behind those that it waits for. The last one of the first
/// stage is last of all. Throws std::logic_error if the stages of the schedule wait for each other.
std::vector<OrderedPass> passes_in_order(const PipelineSchedule& schedule, const PipelineShape& shape);

}  // namespace packsim
