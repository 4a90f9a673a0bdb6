#pragma once

#include <vector>

#include "models/parallel_plan.hpp"
#include "models/step/step_pricer.hpp"

namespace packsim {

/// What all steps of one plan have in common. Chunks are in the order in which a micro-batch goes through
/// them; without pipeline parallelism there is one.
struct PricedPlan {
  ParallelPlan plan;
  std::vector<ChunkShape> chunks;
  std::vector<StatesPrice> states;  ///< [n_chunks]; their units hold every layer of the chunk once
  /// Of each stage to the next, the last to the first: [pp_degree]; empty: all between nodes.
  std::vector<bool> sends_in_node = {};
};

/// The pricer's own plan, all of its chunks.
PricedPlan price_plan(StepPricer& pricer);

/// How one micro-batch of a rank runs, where that is not as the rank's plan says.
struct MicroBatchPlace {
  const PricedPlan* plan = nullptr;  ///< may have another sequence degree, and other checkpointed layers
  int first_gpu = 0;                 ///< of all that share the micro-batch
  std::uint32_t id = 0;              ///< of the micro-batch in its step, for all ranks that share it
};

/// Ranks meet before one of their micro-batches; those that name the same meeting wait for each other.
struct RankMeeting {
  std::uint32_t before = 0;  ///< a micro-batch of the rank; their number: behind the last
  std::uint32_t id = 0;
  bool is_shared = false;  ///< the micro-batch is one of all that meet, and their exchanges are one
};

/// One data-parallel rank in one step. Its GPUs of one pipeline stage do the same at the same time: one of
/// them stands for all.
struct RankWork {
  const PricedPlan* plan = nullptr;
  int first_gpu = 0;
  int own_stage_gpus = 0;  ///< GPUs of one pipeline stage; 0: those that share a sequence under the plan
  std::vector<const MicroBatchPrice*> micro_batches = {};  ///< may be empty, or more than another rank's
  std::vector<MicroBatchPlace> places = {};                ///< [n_micro_batches]; empty: all on the rank
  std::vector<RankMeeting> meetings = {};                  ///< ascending; only without pipeline parallelism
  /// How many times as long as priced it computes: [pp_degree], as the slowest GPU of each stage has it.
  /// Empty: 1.
  std::vector<double> stage_slow_down = {};
  /// The same of single passes, instead of their stage's: [n_chunks x n_micro_batches x 2], forward and
  /// backward. Empty: the stage's.
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
