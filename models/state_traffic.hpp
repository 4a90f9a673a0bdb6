#pragma once

#include <string_view>

#include "models/parallel_plan.hpp"

// What each ZeRO stage (arXiv 1910.02054) shards over the GPUs that hold the same weights, and when gradients
// and weights travel between them. This is the only place that knows the stages by their numbers: everything
// else asks one of these questions.
//
//   stage  sharded                              gradients travel                  weights are gathered
//   0      nothing                              once a step, by all-reduce        never
//   1      optimizer states                     once a step, by reduce-scatter    once a step, those changed
//   2      optimizer states, gradients          in every micro-batch              once a step, those changed
//   3      optimizer states, gradients, weights in every micro-batch              for every pass, all of them
namespace packsim {

inline constexpr int kLastZeroStage = 3;
inline bool is_zero_stage(int stage) {
  return stage >= 0 && stage <= kLastZeroStage;
}

bool shards_optimizer(const ParallelPlan& plan);
bool shards_gradients(const ParallelPlan& plan);
bool shards_weights(const ParallelPlan& plan);

// ---- gradients

/// The collective that adds up gradients: "all_reduce" or "reduce_scatter".
std::string_view gradient_collective(const ParallelPlan& plan);
/// Whether gradients travel in every micro-batch, and not just in the last one of a step.
bool reduces_every_micro_batch(const ParallelPlan& plan);
/// Whether gradients that travel once a step wait for the end of the last backward pass, as the framework
/// does not overlap them with computation.
bool reduces_after_backward(const ParallelPlan& plan);
/// Whether gradients leave while a micro-batch's backward pass goes on.
bool reduces_during_backward(const ParallelPlan& plan, bool is_last_micro_batch);
/// Whether gradients are collected in two buckets, one of which is filled while the other travels: those of
/// which a GPU keeps only its shard, but for the layers of stage 3, which travel one by one.
bool reduces_from_two_buckets(const ParallelPlan& plan);
/// Whether gradients let the next gather go first, as computation waits for its weights.
bool reduces_after_next_gather(const ParallelPlan& plan);

// ---- weights

/// Whether weights and gradients travel layer by layer, and not in buckets of several layers.
bool travels_by_layer(const ParallelPlan& plan);
/// Whether weights are gathered before each forward and each backward pass.
bool gathers_every_pass(const ParallelPlan& plan);
/// Whether the weights that the optimizer has changed are gathered once a step.
bool gathers_changed_weights(const ParallelPlan& plan);
/// Whether these are gathered beside the first forward pass of the next step.
bool gathers_in_forward(const ParallelPlan& plan);
/// Whether these are gathered behind the optimizer, before the step ends.
bool gathers_after_optimizer(const ParallelPlan& plan);

// ---- how often, in so many steps with so many micro-batches in all

template <typename Count>
Count n_reductions(const ParallelPlan& plan, Count n_steps, Count n_micro_batches) {
  return reduces_every_micro_batch(plan) ? n_micro_batches : n_steps;
}
/// Gathers of all that is gathered: forward and backward where every pass gathers. Stage 0 gathers nothing.
template <typename Count>
Count n_gathers(const ParallelPlan& plan, Count n_steps, Count n_micro_batches) {
  return gathers_every_pass(plan) ? 2 * n_micro_batches : n_steps;
}

/// The same plan with another stage, for runs that may choose it. Gradients of stage 2 and all states of
/// stage 3 travel beside computation in every framework that has these stages, whatever the plan says of its
/// own.
ParallelPlan with_zero_stage(const ParallelPlan& plan, int zero_stage);

}  // namespace packsim
