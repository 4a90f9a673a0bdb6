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
/// There are candidates for every number of GPUs that may share a pack, by Ulysses, a ring or both, whichever
/// of ways_to_try() takes least for the longest sample. Each has several numbers of checkpointed layers, from
/// 0 up to the first at which the longest pack that is needed fits.
///
/// plan: of all groups. Its sp_degree, cp_degree and gc_layers are not read. store: what is priced of
/// the job, which nothing else may use at the same time; null: nothing.
std::vector<CandidateGroup> candidate_groups(const Job& job, const ParallelPlan& plan,
                                             const CandidateLimits& limits,
                                             std::shared_ptr<PriceStore> store = nullptr);

/// The candidate of one plan, for packs of up to so many tokens.
CandidateGroup candidate_group(const Job& job, const ParallelPlan& plan, std::int64_t capacity_tokens,
                               std::shared_ptr<PriceStore> store);

/// Every way in which GPUs may share a pack under the plan, by Ulysses, a ring or both: those of fewer GPUs
/// first, and of as many GPUs those with more Ulysses first. plan.sequence is not read.
std::vector<SequenceParallelism> ways_to_share(const Job& job, ParallelPlan plan);
/// Those of them that searches try: of as many GPUs, the one with most Ulysses, the one with most Ulysses
/// inside a node, and the one with the longest ring. In all jobs that were tried, those between are at most
/// half a percent faster than the best of these.
std::vector<SequenceParallelism> ways_to_try(const Job& job, const ParallelPlan& plan);

/// The most tokens that a pack may have on each of its GPUs to fit in memory under the plan with its
/// memory_margin(), at most `most`; 0: not even one. n_micro_batches: of each rank in a step; 0: enough to
/// fill a pipeline.
std::int64_t most_tokens_that_fit(const Job& job, const ParallelPlan& plan, std::int64_t most,
                                  int n_micro_batches = 0);

}  // namespace packsim
