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
};

/// The pricer's own plan, all of its chunks.
PricedPlan price_plan(StepPricer& pricer);

/// One data-parallel rank in one step. Its GPUs of one pipeline stage do the same at the same time: one of
/// them stands for all.
struct RankWork {
  const PricedPlan* plan = nullptr;
  int first_gpu = 0;
  std::vector<const MicroBatchPrice*> micro_batches = {};  ///< may be empty, or more than another rank's
  double slow_down = 1;  ///< on all that it computes, as its slowest GPU has it
};

}  // namespace packsim
