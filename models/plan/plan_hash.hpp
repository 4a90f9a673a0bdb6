#pragma once

#include <cstddef>
#include <cstdint>

#include "models/parallel_plan.hpp"

namespace packsim {

/// A hash of a plan by what searches change. Plans that differ in nothing else have the same.
struct PlanHash {
  std::size_t operator()(const ParallelPlan& plan) const {
    constexpr std::size_t kOdd = 0x9E3779B97F4A7C15;
    std::size_t hash = static_cast<std::size_t>(plan.checkpointing);
    const bool offloads[] = {plan.offload.optimizer, plan.offload.weights, plan.offload.gradients,
                             plan.offload.activations};
    for (const bool is_offloaded : offloads) hash = 2 * hash + (is_offloaded ? 1 : 0);
    for (const int value :
         {plan.tp_degree, plan.sequence.ulysses, plan.sequence.ring, plan.pp_degree, plan.virtual_stages,
          plan.ep_degree, plan.zero_stage, plan.shard_degree, plan.gc_layers})
      hash = (hash ^ static_cast<std::size_t>(value)) * kOdd;
    return hash ^ (hash >> 32U);
  }
};

}  // namespace packsim
