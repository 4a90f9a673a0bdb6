#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/cluster.hpp"
#include "models/framework_profile.hpp"
#include "models/kernels/hardware_profile.hpp"
#include "models/memory/peak_memory.hpp"
#include "models/parallel_plan.hpp"
#include "models/plan/trainer.hpp"
#include "models/step/price_store.hpp"
#include "models/transformer.hpp"
#include "packing/batch_problem.hpp"

namespace packsim {

/// A model on a cluster, with the profiles that price it.
struct Job {
  const Transformer& model;
  const Cluster& cluster;
  const HardwareProfile& hardware;
  const FrameworkFactors& factors;
  const Trainer* trainer = nullptr;  ///< what plans have to run in; null: anything
};

/// A way to run packs that a planner may choose: the pack length that fits in memory at an SP degree and a
/// number of checkpointed layers.
struct CandidateGroup {
  ParallelPlan plan;
  BatchGroup group;   ///< priced
  double step_s = 0;  ///< what a step takes in addition to its packs (PlanCost)
  /// The same for packs that are too short to hide what is sent beside them: the time of one, and what a step
  /// takes in addition.
  double short_pack_s = 0;
  double short_step_s = 0;
};

struct CandidateLimits {
  std::int64_t longest_tokens = 0;  ///< longest sample
  /// Tokens of an iteration for each of the GPUs to which packs are assigned. No pack needs to be longer than
  /// this times the GPUs that share it, unless a sample is longer.
  std::int64_t share_tokens = 0;
  /// The most numbers of checkpointed layers at each degree, evenly spaced.
  int most_depths = 13;
};

/// The candidate groups of a plan, in ascending order of capacity; empty if nothing fits in memory.
///
/// There are candidates for every power of two that is a possible number of GPUs to share a pack, by Ulysses
/// or by Ulysses and a ring, whichever takes less for the longest sample (plans_of_degree()). Each has
/// several numbers of checkpointed layers, from 0 up to the first at which the longest pack that is needed
/// fits.
///
/// plan: of all groups. Its sp_degree, cp_degree and gc_layers are not read. store: what is priced of
/// the job, which nothing else may use at the same time; null: nothing.
std::vector<CandidateGroup> candidate_groups(const Job& job, const ParallelPlan& plan,
                                             const CandidateLimits& limits,
                                             std::shared_ptr<PriceStore> store = nullptr);

/// The candidate of one plan, for packs of up to so many tokens.
CandidateGroup candidate_group(const Job& job, const ParallelPlan& plan, std::int64_t capacity_tokens,
                               std::shared_ptr<PriceStore> store);

/// The plans worth trying with so many GPUs that share a pack: by Ulysses or, if the model has too few heads,
/// by the widest possible Ulysses and a ring; and by Ulysses inside a node and a ring between nodes. Empty if
/// none is possible.
std::vector<ParallelPlan> plans_of_degree(const Job& job, ParallelPlan plan, int degree);

/// How much of a GPU's memory a plan may take: what searches may, or all with which it may fit.
enum class Room : std::uint8_t { with_margin, at_all };

/// The most tokens that a pack may have on each of its GPUs to fit in memory under the plan, at most `most`;
/// 0: not even one. n_micro_batches: of each rank in a step; 0: enough to fill a pipeline.
std::int64_t most_tokens_that_fit(const Job& job, const ParallelPlan& plan, std::int64_t most,
                                  int n_micro_batches = 0, Room room = Room::with_margin);

}  // namespace packsim
