#include "models/plan_traits.hpp"

#include "models/state_traffic.hpp"

namespace packsim {

std::vector<PlanTrait> plan_traits(const Transformer& model, const ParallelPlan& plan) {
  std::vector<PlanTrait> traits;
  const auto add = [&](bool has, PlanTrait trait) {
    if (has) traits.push_back(trait);
  };
  add(plan.tp_degree > 1, PlanTrait::tensor);
  add(plan.sequence.ulysses > 1, PlanTrait::ulysses);
  add(plan.sequence.ring > 1 && !plan.gathers_keys(), PlanTrait::ring);
  add(plan.gathers_keys(), PlanTrait::gathered_keys);
  add(plan.pp_degree > 1, PlanTrait::pipeline);
  add(shards_gradients(plan) && !shards_weights(plan), PlanTrait::zero_2);
  add(shards_weights(plan), PlanTrait::zero_3);
  add(shard_replicas(plan) > 1, PlanTrait::hybrid_sharding);
  const auto checkpoints = [&](Checkpointing kind) {
    return plan.gc_layers > 0 && plan.checkpointing == kind;
  };
  add(checkpoints(Checkpointing::full), PlanTrait::checkpointing);
  add(checkpoints(Checkpointing::selective), PlanTrait::selective_checkpointing);
  add(checkpoints(Checkpointing::operations), PlanTrait::operation_checkpointing);
  add(checkpoints(Checkpointing::modules), PlanTrait::module_checkpointing);
  add(model.has_experts(), PlanTrait::experts);
  add(plan.lora_rank > 0, PlanTrait::lora);
  add(plan.offload.any(), PlanTrait::offload);
  add(is_narrow(plan.precision), PlanTrait::fp8);
  add(plan.frozen_weights->is_packed(), PlanTrait::qlora);
  add(plan.mlp_tiles > 1 || plan.loss_tiles > 1, PlanTrait::tiles);
  return traits;
}

}  // namespace packsim
