#pragma once

#include "models/plan/plan_names.hpp"
#include "scenarios/search_space/search_dimension.hpp"

namespace packsim {

/// A bit for each of kOffloadNames.
constexpr int offload_bits(const Offload& offload) {
  int bits = 0;
  for (std::size_t i = 0; i < kOffloadNames.size(); ++i)
    if (offload.*kOffloadNames[i].state) bits |= 1 << i;
  return bits;
}

/// What is kept in host memory: nothing, the inputs of checkpointed layers, the optimizer, and with it
/// gradients, then weights, then those inputs too.
inline constexpr SearchDimension kOffloads = {
    .key = "offloads",
    .plan_key = "offload",
    .shown = "offload",
    .said = &StrategySpec::offloads,
    .usual =
        [](const Scenario&, const ParallelPlan&) {
          return std::vector<int>{
              offload_bits({}),
              offload_bits({.activations = true}),
              offload_bits({.optimizer = true}),
              offload_bits({.optimizer = true, .gradients = true}),
              offload_bits({.optimizer = true, .weights = true, .gradients = true}),
              offload_bits({.optimizer = true, .weights = true, .gradients = true, .activations = true})};
        },
    .value = [](const ParallelPlan& plan) { return offload_bits(plan.offload); },
    .with = [](ParallelPlan plan, int value, bool, const ParallelPlan&) -> std::optional<ParallelPlan> {
      for (std::size_t i = 0; i < kOffloadNames.size(); ++i)
        plan.offload.*kOffloadNames[i].state = (value & 1 << i) != 0;
      return plan;
    }};

}  // namespace packsim
