#pragma once

#include <vector>

#include "models/parallel_plan.hpp"
#include "models/step/step_pricer.hpp"

namespace packsim {

/// What all steps of one plan have in common. Chunks of layers are in the order in which a micro-batch goes
/// through them; without pipeline parallelism there is one chunk.
struct PricedPlan {
  ParallelPlan plan;
  std::vector<ChunkShape> chunks;
  std::vector<StatesPrice> states;  ///< [n_chunks]; the units of a chunk hold each of its layers once
  /// [pp_degree]: whether a stage sends to the next one inside a node; the last entry is the last stage's to
  /// the first. Empty: all stages send between nodes.
  std::vector<bool> sends_in_node = {};
};

/// Prices all chunks of the pricer's plan.
PricedPlan price_plan(StepPricer& pricer);

/// How a micro-batch runs that does not run as its rank's plan says.
struct MicroBatchPlace {
  const PricedPlan* plan = nullptr;  ///< It may have another sequence degree and other checkpointed layers.
  int first_gpu = 0;                 ///< The first of all GPUs that share the micro-batch.
  std::uint32_t id = 0;  ///< Names the micro-batch within its step; the same for all ranks that share it.
};

/// A point at which ranks wait for each other before one of their micro-batches: all ranks with a sync point
/// of the same id arrive before any of them goes on.
struct SyncPoint {
  /// Index of the rank's micro-batch before which it waits; the number of micro-batches means after the last
  /// one.
  std::uint32_t before = 0;
  std::uint32_t id = 0;
  /// The ranks compute the micro-batch together, and take part in the same exchanges.
  bool is_shared = false;
};

/// What one data-parallel rank does in one step. Its GPUs of one pipeline stage do the same at the same time,
/// so one of them is simulated for all.
struct RankWork {
  const PricedPlan* plan = nullptr;
  int first_gpu = 0;
  /// GPUs of one pipeline stage of the rank. 0: as many as share a sequence under the plan.
  int own_stage_gpus = 0;
  std::vector<const MicroBatchPrice*> micro_batches =
      {};                                    ///< There may be none, or more than another rank has.
  std::vector<MicroBatchPlace> places = {};  ///< [n_micro_batches]; empty: all run on the rank.
  std::vector<SyncPoint> sync_points = {};   ///< Ascending; only without pipeline parallelism.
  /// [pp_degree]: how many times as long as priced a stage computes, because of its slowest GPU. Empty: 1.
  std::vector<double> stage_slow_down = {};
  /// [n_chunks x n_micro_batches x 2], forward and backward: the same for single passes, in place of their
  /// stage's factor. Empty: every pass has its stage's factor.
  std::vector<double> pass_slow_down = {};

  /// The first of its GPUs of a pipeline stage.
  int stage_gpu(std::size_t stage) const {
    return first_gpu + static_cast<int>(stage) * (plan->plan.n_gpus / plan->plan.pp_degree);
  }
  int stage_gpus() const { return own_stage_gpus > 0 ? own_stage_gpus : plan->plan.sequence_gpus(); }
  const PricedPlan& plan_of(std::size_t micro_batch) const {
    return places.empty() ? *plan : *places[micro_batch].plan;
  }
  double slow_down(std::size_t stage) const { return stage_slow_down.empty() ? 1 : stage_slow_down[stage]; }
  double slow_down(std::size_t chunk, std::size_t micro_batch, bool is_forward) const {
    if (stage_slow_down.empty() && pass_slow_down.empty()) return 1;
    if (pass_slow_down.empty()) return stage_slow_down[chunk % stage_slow_down.size()];
    return pass_slow_down[2 * (chunk * micro_batches.size() + micro_batch) + (is_forward ? 0 : 1)];
  }
};

}  // namespace packsim
