#pragma once

#include <cstdint>
#include <unordered_map>

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

/// Seconds that one more pack without attention adds to a step, by its tokens on each GPU. The curves of
/// packs of several lengths have most of their points in common.
using PackTimes = std::unordered_map<std::int64_t, double>;

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
/// Fewer points of the curve by tokens, which is nearly straight, make the times in between less exact. There
/// are then none between 1 and 64 tokens of a GPU.
///
/// known: the times of the same plan with the same checkpointed layers; new ones are added. Null: none.
PlanCost plan_cost(StepPricer& pricer, std::int64_t capacity_tokens, int points_per_octave = 16,
                   PackTimes* known = nullptr);

}  // namespace packsim
