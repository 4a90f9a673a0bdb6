#pragma once

#include <vector>

#include "models/parallel_plan.hpp"
#include "planning/bound/epoch_bound.hpp"
#include "planning/bound/pipeline_chain.hpp"

namespace packsim {

/// What a pass through a chunk takes in addition to the work of its micro-batch.
struct PassCosts {
  double forward_s = 0;
  double later_backward_s = 0;  ///< except in the first micro-batch of a step
};

/// The passes of ranks, see PassShares.
struct PipelineWork {
  std::vector<double> chunks;          ///< shares of chunks
  std::vector<PassTimes> full_units;   ///< if there are as many micro-batches as stages, or more
  std::vector<PassTimes> short_units;  ///< if there are fewer
};

/// Lower bounds on the steps of a pipeline.
struct PipelineSteps {
  /// Factor on a sample's work in steps of fewer micro-batches than stages, to compare it with others.
  double short_factor = 1;
  /// A sample alone takes this many times as long as on the reference stage.
  double alone_factor = 1;
  /// Every step takes at least as long as the lowest of these lines says.
  std::vector<StepLine> lines = {};
};

PipelineSteps pipeline_steps(const ParallelPlan& plan, const PipelineWork& work, const PassCosts& costs);

}  // namespace packsim
