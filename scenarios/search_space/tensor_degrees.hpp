#pragma once

#include "scenarios/search_space/search_dimension.hpp"

namespace packsim {

/// Tensor-parallel GPUs: each number that divides those of a node.
inline constexpr SearchDimension kTensorDegrees = {
    .key = "tp_degrees",
    .plan_key = "tp_degree",
    .shown = "TP",
    .said = &StrategySpec::tp_degrees,
    .usual = [](const Scenario& scenario,
                const ParallelPlan&) { return divisors(scenario.cluster.gpus_per_node); },
    .value = value_of_field<&ParallelPlan::tp_degree>,
    .with = with_field<&ParallelPlan::tp_degree>};

}  // namespace packsim
