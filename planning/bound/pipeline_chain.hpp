#pragma once

#include <vector>

#include "models/pipeline/pipeline_schedule.hpp"

namespace packsim {

/// Time in forward and in backward passes.
struct PassTimes {
  double forward = 0;
  double backward = 0;
};

/// How a micro-batch's time divides among its passes through a pipeline.
struct PassShares {
  /// [n_chunks] the least time of a pass through each chunk, over that of all passes in the same direction
  /// through the chunks of one stage, the reference. Those of the reference add up to at most 1.
  std::vector<double> chunks;
  /// Passes through all chunks of the reference, for a unit of work. Each micro-batch takes at least as long
  /// in both directions as some mean of these, times its work. At least one.
  std::vector<PassTimes> units;
};

/// The least that a rank does one after another in a step, however long each micro-batch takes.
struct PipelineChain {
  double work = 1;               ///< time for each unit of the micro-batches' work
  double n_forwards = 0;         ///< number of forward passes through a chunk
  double n_later_backwards = 0;  ///< number of backward passes, without those of the first micro-batch
};

/// Bounds the time of a rank's passes from below. In the order of the schedule, each pass waits for the one
/// before on its stage and for the one of the neighbouring chunk. A path through the pipeline is a row of
/// passes of which each waits for the one before, so no step takes less than a path. Nor does it take less
/// than a mean of paths. The mean is chosen so that the micro-batch that counts least in it counts for as
/// much as possible: paths and sizes of micro-batches play a game against each other, by regret matching.
/// Every mean is a valid bound, so the result is valid however far the game has come.
///
/// shape: one that the schedule allows, with at least one micro-batch. Source of the method: Tammelin,
/// arXiv 1407.5042.
PipelineChain pipeline_chain(const PipelineSchedule& schedule, const PipelineShape& shape,
                             const PassShares& shares);

}  // namespace packsim
