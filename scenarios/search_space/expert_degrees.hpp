#pragma once

#include "scenarios/search_space/search_dimension.hpp"

namespace packsim {

/// GPUs over which routed experts are spread: each number that divides the GPUs.
inline constexpr SearchDimension kExpertDegrees = {
    .key = "ep_degrees",
    .plan_key = "ep_degree",
    .shown = "EP",
    .said = &StrategySpec::ep_degrees,
    .usual =
        [](const Scenario& scenario, const ParallelPlan&) {
          return scenario.model.has_experts() ? divisors(scenario.cluster.n_gpus()) : std::vector<int>{1};
        },
    .value = [](const ParallelPlan& plan) { return plan.ep_degree; },
    .with = [](ParallelPlan plan, int value, bool, const ParallelPlan&) -> std::optional<ParallelPlan> {
      plan.ep_degree = value;
      return plan;
    }};

}  // namespace packsim
