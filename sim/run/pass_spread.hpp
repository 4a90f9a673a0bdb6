#pragma once

#include "models/step/step_price.hpp"
#include "sim/variability/slowest_gpu.hpp"

namespace packsim {

/// What one pass of a micro-batch through a chunk takes on a rank's GPUs of the stage, over what was priced.
struct PassSpread {
  double mean = 1;
  double relative_spread = 0;  ///< of one pass about that mean
};

/// What is computed between two exchanges of the rank is a piece: its GPUs wait for the slowest of them at
/// the end of each. Kernels of a piece draw their noise independently, those that were priced together as
/// one; so do pieces, and layers. Of a GPU alone, all kernels are one piece.
///
/// gpus: those that hold the micro-batch together, with spreads up to kernel_spread.
PassSpread pass_spread(const MicroBatchPrice& price, const ChunkShape& chunk, bool is_forward,
                       double kernel_spread, const SlowestGpus& gpus);

}  // namespace packsim
