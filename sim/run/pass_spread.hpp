#pragma once

#include "models/step/step_price.hpp"
#include "sim/variability/slowest_gpu.hpp"

namespace packsim {

/// Factor on the priced time of one pass of a micro-batch through a chunk, on GPUs of different speeds and
/// with noise.
struct PassSpread {
  double mean = 1;
  double relative_spread = 0;  ///< standard deviation divided by the mean
};

/// A piece is the work between two exchanges of the rank. At the end of each piece the GPUs wait for the
/// slowest of them. The noise of different kernels, pieces and layers is independent; kernels that were
/// priced together have one draw. A GPU that has a micro-batch alone never waits, so its kernels add up.
///
/// gpus: those that share the micro-batch, prepared for spreads of up to kernel_spread.
PassSpread pass_spread(const MicroBatchPrice& price, const ChunkShape& chunk, bool is_forward,
                       double kernel_spread, const SlowestGpus& gpus);

}  // namespace packsim
