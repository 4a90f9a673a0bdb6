#pragma once

#include <string_view>

#include "models/parallel_plan.hpp"

// What each ZeRO stage (arXiv 1910.02054) shards over the GPUs that hold the same weights, and when these
// GPUs send each other gradients and weights. No other code compares ZeRO stage numbers; it calls the
// functions below.
//
//   stage  sharded                               gradients are added up        weights are gathered
//   0      nothing                               once a step (all-reduce)      never
//   1      optimizer states                      once a step (reduce-scatter)  once a step, after the update
//   2      optimizer states, gradients           in every micro-batch          once a step, after the update
//   3      optimizer states, gradients, weights  in every micro-batch          for every pass
//
// In a pipeline, stages 2 and 3 send less often, as in torchtitan (reshard_after_forward "default"), because
// a GPU has several micro-batches under way. Each GPU adds up whole gradients, which are reduce-scattered in
// the last micro-batch of a step. Under stage 3 all weights are gathered once a step, beside the first
// forward pass, and dropped after the last backward pass. So gradients and weights are sharded between steps
// only, and during the passes they take as much memory as under stage 1.
//
// With hybrid sharding (HSDP) neighbouring GPUs form shard groups. All GPUs of a group together hold one set
// of shards, and the groups are replicas of each other. Weights are gathered inside a group. Gradients are
// reduce-scattered inside each group and then all-reduced between the replicas. PyTorch's fully_shard does so
// on a device mesh of two dimensions.
namespace packsim {

inline constexpr int kLastZeroStage = 3;
inline bool is_zero_stage(int stage) {
  return stage >= 0 && stage <= kLastZeroStage;
}

bool shards_optimizer(const ParallelPlan& plan);
bool shards_gradients(const ParallelPlan& plan);
bool shards_weights(const ParallelPlan& plan);
/// Whether every pass makes bf16 copies of fp32 weights and of what fp32 norms return, as torch.autocast
/// does. Under ZeRO 2 and 3 weights are gathered in bf16 instead (FSDP's mixed precision), and frozen ones
/// are in bf16.
bool casts_in_passes(const ParallelPlan& plan);

/// GPUs of a shard group, all of which together have one set of shards.
int shard_gpus(const ParallelPlan& plan);
/// Number of shard groups: replicas of each shard.
int shard_replicas(const ParallelPlan& plan);

// ---- gradients

/// The collective that adds up gradients inside a shard group: "all_reduce" or "reduce_scatter".
std::string_view gradient_collective(const ParallelPlan& plan);
/// Whether gradients are reduced in every micro-batch, instead of only in the last one of a step. Each GPU
/// then has whole gradients only of what its backward pass has just computed.
bool reduces_every_micro_batch(const ParallelPlan& plan);
/// Whether gradients are reduced once a step and only after the last backward pass, because the framework
/// does not overlap the reduction with computation.
bool reduces_after_backward(const ParallelPlan& plan);
/// Whether gradients are reduced while the backward pass of the micro-batch is still running.
bool reduces_during_backward(const ParallelPlan& plan, bool is_last_micro_batch);
/// Whether gradients are collected in two buckets, one of which is filled while the other is reduced. This is
/// so if they are reduced in every micro-batch, except under stage 3, which reduces layer by layer.
bool reduces_from_two_buckets(const ParallelPlan& plan);
/// Whether a reduction of gradients waits until the next gather of weights has been sent, because computation
/// waits for these weights.
bool reduces_after_next_gather(const ParallelPlan& plan);

// ---- weights

/// Whether weights and gradients travel layer by layer, instead of in buckets of several layers.
bool travels_by_layer(const ParallelPlan& plan);
/// Whether weights are gathered before each forward and each backward pass.
bool gathers_every_pass(const ParallelPlan& plan);
/// Whether the weights that the optimizer has changed are gathered once a step.
bool gathers_changed_weights(const ParallelPlan& plan);
/// Whether all weights are gathered once a step, beside the first forward pass, and dropped after the last
/// backward pass.
bool gathers_every_step(const ParallelPlan& plan);
/// Whether all weights, or the changed ones of the step before, are gathered during the first forward pass of
/// a step.
bool gathers_in_forward(const ParallelPlan& plan);
/// Whether the changed weights are gathered after the optimizer, before the step ends.
bool gathers_after_optimizer(const ParallelPlan& plan);

/// Whether every pass quantises the weights that it uses, instead of once a step.
bool casts_weights_in_passes(const ParallelPlan& plan);

// ---- how often, for n_steps steps with n_micro_batches micro-batches in all

template <typename Count>
Count n_reductions(const ParallelPlan& plan, Count n_steps, Count n_micro_batches) {
  return reduces_every_micro_batch(plan) ? n_micro_batches : n_steps;
}
/// Number of gathers: two for each micro-batch if every pass gathers, else one for each step. Stage 0 gathers
/// nothing, so its number has no meaning.
template <typename Count>
Count n_gathers(const ParallelPlan& plan, Count n_steps, Count n_micro_batches) {
  return gathers_every_pass(plan) ? 2 * n_micro_batches : n_steps;
}

/// The same plan with another ZeRO stage, for runs that may choose it. At stages 2 and 3 the new plan
/// overlaps weights and gradients with computation, as every framework with these stages does, even if the
/// given plan does not.
ParallelPlan with_zero_stage(const ParallelPlan& plan, int zero_stage);

}  // namespace packsim
