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
    .value = value_of_field<&ParallelPlan::ep_degree>,
    .with = with_field<&ParallelPlan::ep_degree>};

}  // namespace packsim
