#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/run/trace_step.hpp"

namespace packsim {

/// What a rank does at a time of a step, as timelines show it.
enum class Activity : std::uint8_t {
  forward,  ///< passes of micro-batches, with the exchanges inside them that have no operation of their own
  backward,
  exchange,  ///< gradients, weights and other transfers that no computation hides
  update,    ///< the optimizer and the framework's fixed costs
  waiting,   ///< for slower ranks or other pipeline stages
};
inline constexpr std::size_t kNActivities = 5;

/// What the GPUs of one lane do in a step: those of a pipeline stage of a data-parallel rank.
struct TimelineLane {
  TracedLane gpus;
  /// Times that follow each other from 0 to the step's end, rounded to StepTimeline::kTicks parts of it.
  struct Span {
    Activity activity = Activity::waiting;
    int first_tick = 0;
    int end_tick = 0;
  };
  std::vector<Span> spans;
};

/// One step, rank by rank.
struct StepTimeline {
  static constexpr int kTicks = 500;  ///< finer than a chart can show
  std::string_view which;             ///< "median" or "slowest" of the run's steps
  std::int64_t iteration = 0;
  double step_s = 0;
  std::int64_t n_lanes = 0;  ///< of the step; `lanes` may be fewer of them
  std::vector<TimelineLane> lanes;
};

/// The timeline of a traced step. Of more than most_lanes lanes, it has so many evenly spaced ones, the first
/// and the last among them. A tick shows what the lane does for most of it.
///
/// most_lanes: above 1. The caller sets `which` and `iteration`.
StepTimeline step_timeline(const TracedStep& step, std::size_t most_lanes);

}  // namespace packsim
