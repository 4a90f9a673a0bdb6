#pragma once

#include <array>
#include <cstdint>

#include <span>
#include <vector>

#include "models/step/step_price.hpp"

namespace packsim {

/// Equal phases of a micro-batch, one after another, or what they do between two moments at which the host
/// waits for the GPU.
struct LaunchedPhases {
  double launched_s = 0;  ///< of the host, for all launches
  double run_s = 0;       ///< of the GPU
  double n_launches = 0;
  /// How often, spread evenly, the host first waits until the GPU has done all that was launched.
  double n_waits = 0;
  std::size_t place = 0;  ///< of the part in a micro-batch (place_of())
  int n_parts = 1;        ///< how many equal ones these are
};

/// The places of a micro-batch: embedding, head and layers by form, forward and backward.
inline constexpr std::size_t kNHostPlaces = 2 * (2 + kNLayerForms);

/// The phases of a micro-batch, forward and backward, in order.
std::vector<LaunchedPhases> launched_phases(const MicroBatchPrice& price, const ChunkShape& chunk);

/// How a micro-batch runs beside its host, which launches kernels ahead of the GPU.
struct HostWait {
  std::int64_t wait_ns = 0;  ///< time that the GPU waits for launches
  /// That of one layer, embedding or head, by place, rounded down.
  std::array<std::int64_t, kNHostPlaces> part_wait_ns = {};
  std::int64_t unplaced_ns = 0;  ///< what rounding leaves of wait_ns
  /// How much later the GPU is done than the host at the end of the micro-batch. Launches that follow hide
  /// behind this time.
  std::int64_t lead_ns = 0;
  /// How far the host can be ahead, which is 0 where it waits for the GPU inside the micro-batch.
  std::int64_t most_ahead_ns = 0;
  double launched_s = 0;  ///< time of the host for all launches
};

/// The host launches the kernels of a micro-batch one after another, forward and backward, and a kernel
/// starts when it has been launched and the one before it has ended. The host runs ahead until the queue is
/// full, and from one micro-batch into the next: each micro-batch is taken to follow one like itself. So the
/// GPU waits only where launches take longer than the kernels before them, and over a micro-batch whose
/// phases all fit into the queue it takes the longer of the two sums. Where the host reads a value, it waits
/// until the GPU has got there, and is no longer ahead. A GPU that waits for other GPUs lets its host get
/// further ahead, which shortens these waits in a simulated step (LaunchWait).
HostWait host_wait(const MicroBatchPrice& price, const ChunkShape& chunk);
/// reads_loss: whether the host waits behind each micro-batch.
HostWait host_wait(std::span<const LaunchedPhases> phases, bool reads_loss = false);

}  // namespace packsim
