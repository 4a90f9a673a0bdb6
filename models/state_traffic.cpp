#include "models/state_traffic.hpp"

namespace packsim {

bool shards_optimizer(const ParallelPlan& plan) {
  return plan.zero_stage >= 1;
}

bool shards_gradients(const ParallelPlan& plan) {
  return plan.zero_stage >= 2;
}

bool shards_weights(const ParallelPlan& plan) {
  return plan.zero_stage >= 3;
}

bool casts_in_passes(const ParallelPlan& plan) {
  return plan.execution.optimizer->has_fp32_weights() && plan.lora_rank == 0 && !shards_gradients(plan);
}

bool casts_weights_in_passes(const ParallelPlan& plan) {
  return is_narrow(plan.precision) && shards_weights(plan) && !plan.fp8_gather;
}

int shard_gpus(const ParallelPlan& plan) {
  return plan.shard_degree > 0 ? plan.shard_degree : plan.state_gpus();
}

int shard_replicas(const ParallelPlan& plan) {
  return plan.state_gpus() / shard_gpus(plan);
}

std::string_view gradient_collective(const ParallelPlan& plan) {
  return shards_optimizer(plan) ? "reduce_scatter" : "all_reduce";
}

// A GPU that keeps only its shard cannot add up the others' part over several micro-batches.
bool reduces_every_micro_batch(const ParallelPlan& plan) {
  return shards_gradients(plan) && plan.pp_degree == 1;
}

bool reduces_after_backward(const ParallelPlan& plan) {
  return !reduces_every_micro_batch(plan) && !plan.execution.overlaps_states;
}

bool reduces_during_backward(const ParallelPlan& plan, bool is_last_micro_batch) {
  return (reduces_every_micro_batch(plan) || is_last_micro_batch) && !reduces_after_backward(plan);
}

bool reduces_from_two_buckets(const ParallelPlan& plan) {
  return reduces_every_micro_batch(plan) && !travels_by_layer(plan);
}

bool reduces_after_next_gather(const ParallelPlan& plan) {
  return gathers_every_pass(plan) && plan.execution.overlaps_states;
}

bool travels_by_layer(const ParallelPlan& plan) {
  return shards_weights(plan);
}

bool gathers_every_pass(const ParallelPlan& plan) {
  return shards_weights(plan) && plan.pp_degree == 1;
}

bool gathers_every_step(const ParallelPlan& plan) {
  return shards_weights(plan) && plan.pp_degree > 1;
}

bool gathers_changed_weights(const ParallelPlan& plan) {
  return shards_optimizer(plan) && !shards_weights(plan);
}

bool gathers_in_forward(const ParallelPlan& plan) {
  return gathers_every_step(plan) || (gathers_changed_weights(plan) && plan.execution.overlaps_gather);
}

bool gathers_after_optimizer(const ParallelPlan& plan) {
  return gathers_changed_weights(plan) && !plan.execution.overlaps_gather;
}

ParallelPlan with_zero_stage(const ParallelPlan& plan, int zero_stage) {
  ParallelPlan other = plan;
  other.zero_stage = zero_stage;
  other.execution.overlaps_states = shards_gradients(other) || plan.execution.overlaps_states;
  return other;
}

}  // namespace packsim
