#pragma once

#include <cstdint>

#include <span>
#include <vector>

#include "models/step/step_price.hpp"

namespace packsim {

/// Equal phases of a micro-batch, one after another.
struct LaunchedPhases {
  double launched_s = 0;  ///< of the host, for all launches
  double run_s = 0;       ///< of the GPU
  double n_launches = 0;
};

/// The phases of a micro-batch, forward and backward, in order.
std::vector<LaunchedPhases> launched_phases(const MicroBatchPrice& price, const ChunkShape& chunk);

/// How a micro-batch runs beside its host, which launches kernels ahead of the GPU.
struct HostWait {
  std::int64_t wait_ns = 0;  ///< time that the GPU waits for launches
  /// How much later the GPU is done than the host at the end of the micro-batch. Launches that follow hide
  /// behind this time.
  std::int64_t lead_ns = 0;
  double launched_s = 0;  ///< time of the host for all launches
};

/// The host launches the kernels of a micro-batch one after another, forward and backward, and a kernel
/// starts when it has been launched and the one before it has ended. The host runs ahead until the queue is
/// full, and from one micro-batch into the next: each micro-batch is taken to follow one like itself. So the
/// GPU waits only where launches take longer than the kernels before them, and over a micro-batch whose
/// phases all fit into the queue it takes the longer of the two sums.
HostWait host_wait(const MicroBatchPrice& price, const ChunkShape& chunk);
HostWait host_wait(std::span<const LaunchedPhases> phases);

}  // namespace packsim
