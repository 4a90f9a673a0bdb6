#pragma once

#include "models/step/step_price.hpp"
#include "sim/variability/slowest_gpu.hpp"

namespace packsim {

/// The time of one pass of a micro-batch through a chunk on a rank's GPUs, over its price.
struct PassSpread {
  double mean = 1;
  double relative_spread = 0;  ///< Standard deviation of one pass over that mean.
};

/// The work between two exchanges of the rank is a piece: its GPUs wait for the slowest of them at the end of
/// each piece. Kernels draw their noise independently, those that were priced together as one; so do pieces
/// and layers. A GPU that shares its micro-batch with no other has pieces that add up.
///
/// gpus: those that hold the micro-batch together, with spreads up to kernel_spread.
PassSpread pass_spread(const MicroBatchPrice& price, const ChunkShape& chunk, bool is_forward,
                       double kernel_spread, const SlowestGpus& gpus);

}  // namespace packsim
