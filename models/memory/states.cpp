#include "models/memory/states.hpp"

#include "models/memory/value_bytes.hpp"
#include "models/memory/weights.hpp"
#include "models/state_traffic.hpp"

namespace packsim {
namespace {

constexpr double kFp8Copies = 2;  // quantised weights, as they are and transposed
constexpr double kAdam = 12;      // fp32 master weights and two moments

// Adds the states of weights that n_gpus GPUs of a shard group hold alike.
void add_states(const ParallelPlan& plan, double weights, double trained, int n_gpus, StateBytes& states) {
  const auto per_gpu = [&](double elements, bool is_sharded) {
    return is_sharded ? elements / n_gpus : elements;
  };
  const double shard = per_gpu(trained, shards_optimizer(plan));
  const double weights_bytes = kBf16 * per_gpu(weights, shards_weights(plan));
  (plan.offload.weights ? states.host_bytes : states.weights_bytes) += weights_bytes;
  // Offloaded gradients are those in fp32 that the host's AdamW reads.
  if (!plan.offload.gradients) {
    states.gradients_bytes += gradient_element_bytes(plan) * per_gpu(trained, shards_gradients(plan));
  }
  if (plan.offload.optimizer) {
    states.host_bytes += (kAdam + kFp32) * shard;
  } else {
    states.optimizer_bytes += kAdam * shard;
    if (!plan.execution.fp32_gradients && !plan.execution.plain_gradients) states.step_bytes += kFp32 * shard;
  }
}

}  // namespace

StateBytes stage_states(const Transformer& model, const ParallelPlan& plan, int stage) {
  const bool is_lora = plan.lora_rank > 0;
  GpuWeights weights = stage_weights(model, plan, stage);
  GpuWeights trained = weights;
  if (is_lora) {
    trained = stage_adapters(model, plan, stage);
    weights += trained;
  }
  StateBytes states;
  add_states(plan, weights.dense, trained.dense, shard_gpus(plan), states);
  add_states(plan, weights.experts, trained.experts, expert_shard_gpus(plan), states);
  if (plan.frozen_weights == FrozenWeights::nf4) {
    const GpuWeights frozen = stage_matrices(model, plan, stage);
    (plan.offload.weights ? states.host_bytes : states.weights_bytes) -=
        (kBf16 - kNf4Bytes) * elements_of_gpu(plan, frozen, shards_weights(plan));
  }
  if (is_fp8(plan.precision) && !shards_weights(plan))
    states.weights_bytes += kFp8Copies * stage_matrices(model, plan, stage).total();
  return states;
}

double trained_elements(const Transformer& model, const ParallelPlan& plan, int stage) {
  return plan.lora_rank > 0 ? stage_adapters(model, plan, stage).total()
                            : stage_weights(model, plan, stage).total();
}

}  // namespace packsim
