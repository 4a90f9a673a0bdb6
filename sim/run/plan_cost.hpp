#pragma once

#include <cstdint>

#include "models/step/step_pricer.hpp"
#include "packing/pack_cost.hpp"

namespace packsim {

/// What a plan costs, for whoever composes batches: curves instead of kernels.
struct PlanCost {
  /// What one more pack adds to a step, on each of the GPUs that share it.
  PackCost pack;
  /// What a step takes beside its packs and, in a pipeline, the time to fill and drain it, fill_rounds()
  /// packs: optimizer, states, the framework. Below 0 where the first pack of a step saves more than that: it
  /// has no gradients to be added to.
  double step_s = 0;
};

/// What filling and draining the plan's pipeline takes, in packs.
double fill_rounds(const ParallelPlan& plan);

/// Read off steps of one rank, at step level: what the second of two equal packs takes, on a grid of token
/// counts, 16 to the octave up to the capacity; step_s is that of a step with one full pack. Of a pipeline, a
/// pack takes what its busiest stage does.
///
/// Documents are priced without what a ring's transfers leave exposed.
PlanCost plan_cost(StepPricer& pricer, std::int64_t capacity_tokens);

}  // namespace packsim
