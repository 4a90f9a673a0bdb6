#pragma once

#include <cstdint>
#include <span>

#include "sim/engine/sim_time.hpp"

namespace packsim {

/// A pass of a micro-batch that trains nothing, such as one that measures a loss or a gradient.
struct ProbePass {
  int gpus = 1;  ///< GPUs that share the micro-batch; equal to, or a power of two times, others' of the burst
  std::int64_t time_ns = 0;
};

// The time of passes between two steps, until the last GPU has done its passes and the results are exchanged.

/// Runs each pass once, the widest and then the longest first, on the neighbouring GPUs that are free first.
/// That takes at most 4/3 of the best order if all passes are equally wide (Graham 1969). Then all GPUs wait
/// for each other and exchange the results.
///
/// n_gpus: the GPUs that share the passes. exchange: the time to exchange the results. Throws
/// std::invalid_argument for a pass wider than n_gpus.
SimTime spread_probes_time(std::span<const ProbePass> passes, int n_gpus, SimTime exchange);

/// The same if all GPUs take part in the exchanges of every pass, as when weights are gathered: passes run in
/// rounds, longest first, and a round takes as long as its longest pass.
SimTime lockstep_probes_time(std::span<const ProbePass> passes, int n_gpus, SimTime exchange);

/// Runs all passes on each rank, one after another; there is nothing to exchange.
SimTime repeated_probes_time(std::span<const ProbePass> passes);

}  // namespace packsim
