#pragma once

#include <cstdint>

#include "models/step/step_pricer.hpp"
#include "packing/pack_cost.hpp"

namespace packsim {

/// The cost of packs under a plan as curves, for strategies that compose iterations.
struct PlanCost {
  /// Time that one more pack adds to a step, on each of the GPUs that share the pack.
  PackCost pack;
  /// Time of a step in addition to its packs and to filling and draining a pipeline (fill_rounds()): the
  /// optimizer, weights and gradients, and the framework. It is negative if the first pack of a step saves
  /// more than this, because its gradients need not be added to earlier ones.
  double step_s = 0;
};

/// Time to fill and drain the plan's pipeline, in units of the time of a pack.
double fill_rounds(const ParallelPlan& plan);

/// Simulates steps of one rank at step level, for 16 token counts per octave up to the capacity. The time of
/// a pack is what the second of two equal packs adds to a step, and step_s follows from a step with one full
/// pack. In a pipeline of p stages, it is 1/p of what the second p packs of 2 p add, so the busiest stage
/// decides.
///
/// With ring attention, the curve by tokens includes all transfers of the ring. How many of them attention
/// hides follows from the attention of a pack (PackCost::hidden_s()), of both passes together.
///
/// Fewer points of the curve by tokens, which is nearly straight, make the times in between less exact.
PlanCost plan_cost(StepPricer& pricer, std::int64_t capacity_tokens, int points_per_octave = 16);

}  // namespace packsim
