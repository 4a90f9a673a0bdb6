#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/parallel_plan.hpp"
#include "models/transformer.hpp"

namespace packsim {

/// What a training step may have that the steps of a framework profile did not.
enum class PlanTrait : std::uint8_t {
  tensor,
  ulysses,
  ring,
  gathered_keys,
  pipeline,
  zero_2,
  zero_3,
  hybrid_sharding,
  checkpointing,
  selective_checkpointing,
  operation_checkpointing,
  module_checkpointing,
  experts,
  lora,
  offload,
  fp8,
  qlora,
  tiles,
};

struct PlanTraitKind {
  PlanTrait trait;
  std::string_view name;  ///< in the files of profiles
  std::string_view text;  ///< "steps with ..."
  /// Relative error (one standard deviation) of steps with the trait, by a profile of steps without it.
  double error;
};

/// The errors of hybrid sharding, experts, LoRA, QLoRA, states in host memory and fp8 follow published steps
/// that were priced by fits to other stacks (docs/accuracy/held_out_steps.md). The others are assumed.
inline constexpr std::array<PlanTraitKind, 18> kPlanTraits = {{
    {PlanTrait::tensor, "tensor", "tensor parallelism", 0.08},
    {PlanTrait::ulysses, "ulysses", "Ulysses sequence parallelism", 0.08},
    {PlanTrait::ring, "ring", "ring attention", 0.08},
    {PlanTrait::gathered_keys, "gathered_keys", "gathered keys and values", 0.08},
    {PlanTrait::pipeline, "pipeline", "a pipeline", 0.08},
    {PlanTrait::zero_2, "zero_2", "ZeRO 2", 0.08},
    {PlanTrait::zero_3, "zero_3", "ZeRO 3", 0.08},
    {PlanTrait::hybrid_sharding, "hybrid_sharding", "hybrid sharding", 0.08},
    {PlanTrait::checkpointing, "checkpointing", "checkpointed layers", 0.08},
    {PlanTrait::selective_checkpointing, "selective_checkpointing", "selective checkpointing", 0.08},
    {PlanTrait::operation_checkpointing, "operation_checkpointing", "checkpointing by operation", 0.08},
    {PlanTrait::module_checkpointing, "module_checkpointing", "recomputed modules", 0.08},
    {PlanTrait::experts, "experts", "experts", 0.25},
    {PlanTrait::lora, "lora", "LoRA", 0.1},
    {PlanTrait::offload, "offload", "states in host memory", 0.2},
    {PlanTrait::fp8, "fp8", "products in fp8", 0.1},
    {PlanTrait::qlora, "qlora", "frozen weights in 4 bits", 0.15},
    {PlanTrait::tiles, "tiles", "tiles of the sequence", 0.08},
}};

constexpr const PlanTraitKind& plan_trait_kind(PlanTrait trait) {
  return kPlanTraits[static_cast<std::size_t>(trait)];
}

/// The traits of a step, in the order of kPlanTraits.
std::vector<PlanTrait> plan_traits(const Transformer& model, const ParallelPlan& plan);

}  // namespace packsim
