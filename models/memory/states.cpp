#include "models/memory/states.hpp"

#include <algorithm>

#include "models/memory/value_bytes.hpp"
#include "models/memory/weights.hpp"
#include "models/state_traffic.hpp"

namespace packsim {
namespace {

constexpr double kNarrowCopies = 2;  // quantised weights, as they are and transposed

// Whether the optimizer of bf16 gradients makes an fp32 copy of them, as DeepSpeed's does for its masters.
bool makes_fp32_copies(const ParallelPlan& plan) {
  return *plan.execution.optimizer == kAdamW && !plan.execution.fp32_gradients &&
         !plan.execution.plain_gradients;
}

// Adds the states of weights that n_gpus GPUs of a shard group hold alike.
void add_states(const ParallelPlan& plan, double weights, double trained, int n_gpus, StateBytes& states) {
  const auto per_gpu = [&](double elements, bool is_sharded) {
    return is_sharded ? elements / n_gpus : elements;
  };
  const double shard = per_gpu(trained, shards_optimizer(plan));
  const OptimizerKind& optimizer = *plan.execution.optimizer;
  // Frozen weights are in bf16 whatever the optimizer. What adapters in fp32 take beyond that counts below.
  double weight_bytes = plan.lora_rank > 0 ? kBf16 : optimizer.weight_bytes;
  if (plan.lora_rank > 0) states.optimizer_bytes += (optimizer.weight_bytes - kBf16) * shard;
  // FSDP's SHARD_GRAD_OP, as ZeRO 2: fp32 weights are sharded, and gathered in bf16 once a step.
  if (weight_bytes == kFp32 && shards_gradients(plan) && !shards_weights(plan)) {
    weight_bytes = kBf16;
    states.optimizer_bytes += kFp32 * shard;
  }
  const double weights_bytes = weight_bytes * per_gpu(weights, shards_weights(plan));
  (plan.offload.weights ? states.host_bytes : states.weights_bytes) += weights_bytes;
  // Offloaded gradients are those in fp32 that the host's AdamW reads.
  if (!plan.offload.gradients) {
    states.gradients_bytes += gradient_element_bytes(plan) * per_gpu(trained, shards_gradients(plan));
  }
  if (plan.offload.optimizer) {
    states.host_bytes += (optimizer.state_bytes + kFp32) * shard;
  } else {
    (optimizer.is_paged ? states.host_bytes : states.optimizer_bytes) += optimizer.state_bytes * shard;
    if (makes_fp32_copies(plan)) states.step_bytes += kFp32 * shard;
  }
}

double largest_trained_unit(const Transformer& model, const ParallelPlan& plan) {
  double largest = plan.lora_rank > 0 ? 0 : vocabulary_weights(model, plan);
  for (const LayerKind kind : {LayerKind::dense, LayerKind::expert}) {
    if (model.n_layers_of(kind) == 0) continue;
    largest = std::max(largest, plan.lora_rank > 0 ? layer_adapters(model, plan, kind).total()
                                                   : layer_weights(model, plan, kind).total());
  }
  return largest;
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
  // The gradients of one layer, or of the embedding, at a time.
  if (plan.optimizer_in_backward)
    states.gradients_bytes = gradient_element_bytes(plan) * largest_trained_unit(model, plan);
  if (plan.frozen_weights->is_packed()) {
    const GpuWeights frozen = stage_matrices(model, plan, stage);
    (plan.offload.weights ? states.host_bytes : states.weights_bytes) -=
        (kBf16 - plan.frozen_weights->kept_bytes) * elements_of_gpu(plan, frozen, shards_weights(plan));
  }
  if (is_narrow(plan.precision) && !shards_weights(plan))
    states.weights_bytes += kNarrowCopies * precision_kind(plan.precision).value_bytes *
                            stage_matrices(model, plan, stage).total();
  return states;
}

double trained_elements(const Transformer& model, const ParallelPlan& plan, int stage) {
  return plan.lora_rank > 0 ? stage_adapters(model, plan, stage).total()
                            : stage_weights(model, plan, stage).total();
}

}  // namespace packsim
