#pragma once

#include <cstdint>
#include <vector>

#include "models/cluster.hpp"
#include "models/framework_profile.hpp"
#include "models/kernels/hardware_profile.hpp"
#include "models/memory/peak_memory.hpp"
#include "models/parallel_plan.hpp"
#include "models/transformer.hpp"
#include "packing/batch_problem.hpp"

namespace packsim {

/// What a job runs, on what.
struct Job {
  const Transformer& model;
  const Cluster& cluster;
  const HardwareProfile& hardware;
  const FrameworkFactors& factors;
};

/// A way to run packs that a planner may choose: as many tokens as fit in memory at an SP degree and a number
/// of checkpointed layers.
struct CandidateGroup {
  ParallelPlan plan;
  BatchGroup group;   ///< priced
  double step_s = 0;  ///< what a step takes beside its packs (PlanCost)
};

struct CandidateLimits {
  std::int64_t longest_tokens = 0;  ///< of a sample
  /// Of an iteration, for each of the GPUs that packs are dealt out to: no pack needs more of them all, but
  /// for a longer sample.
  std::int64_t share_tokens = 0;
  int most_depths = 13;  ///< different numbers of checkpointed layers, evenly spaced, at each degree
};

/// Every number of GPUs that is a power of two and can share a pack, by Ulysses or, where the model's heads
/// are too few, by Ulysses and a ring, each with numbers of checkpointed layers from none up to the first at
/// which as long packs fit as any needs, ascending in capacity. Empty where nothing fits.
///
/// plan: of all groups; its own sp_degree, cp_degree and gc_layers are not read.
std::vector<CandidateGroup> candidate_groups(const Job& job, const ParallelPlan& plan,
                                             const CandidateLimits& limits);

/// Tokens of the largest pack on each of its GPUs that fits in memory under the plan, at most `most`; 0:
/// none. n_micro_batches: of a step, on each rank; 0: enough to fill a pipeline.
std::int64_t most_tokens_that_fit(const Job& job, const ParallelPlan& plan, std::int64_t most,
                                  int n_micro_batches = 0);

}  // namespace packsim
