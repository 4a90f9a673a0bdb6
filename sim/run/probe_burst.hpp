#pragma once

#include <cstdint>
#include <span>

#include "sim/engine/sim_time.hpp"

namespace packsim {

/// A pass of a micro-batch that trains nothing, such as one that measures a loss or a gradient.
struct ProbePass {
  int gpus = 1;  ///< GPUs that share the micro-batch; a power of two times others of the burst, or equal
  std::int64_t time_ns = 0;
};

/// What passes take that run one after another between two steps.
struct ProbeBurst {
  SimTime time;              ///< until the last GPU has done its passes and the results are exchanged
  std::int64_t busy_ns = 0;  ///< GPU time of the passes alone, over all GPUs
};

/// Each pass once: widest and then longest first, each on the neighbouring GPUs that are free first, which is
/// at most 4/3 of the best order where all passes are equally wide (Graham 1969). Then all GPUs wait for each
/// other and exchange the results.
///
/// n_gpus: to which passes are assigned. exchange: of the results. Throws std::invalid_argument for a pass
/// wider than n_gpus.
ProbeBurst spread_probes(std::span<const ProbePass> passes, int n_gpus, SimTime exchange);

/// The same where all GPUs take part in the exchanges of every pass, as where weights are gathered: passes
/// run in rounds, longest first, and a round takes as long as its longest pass.
ProbeBurst lockstep_probes(std::span<const ProbePass> passes, int n_gpus, SimTime exchange);

/// All passes on each rank, one after another; there is nothing to exchange.
ProbeBurst repeat_probes(std::span<const ProbePass> passes, int n_gpus);

}  // namespace packsim
