#pragma once

#include "scenarios/search_space/search_dimension.hpp"

namespace packsim {

/// Chunks of layers that a pipeline stage holds: each number into which the layers can be cut evenly. The
/// plan's own layers of chunks are for its own number of chunks.
inline constexpr SearchDimension kVirtualStages = {
    .key = "virtual_stage_counts",
    .plan_key = "virtual_stages",
    .shown = "VPP",
    .said = &StrategySpec::virtual_stage_counts,
    .usual = [](const Scenario& scenario, const ParallelPlan&) { return divisors(scenario.model.n_layers); },
    .value = [](const ParallelPlan& plan) { return plan.virtual_stages; },
    .with = [](ParallelPlan plan, int value, bool, const ParallelPlan&) -> std::optional<ParallelPlan> {
      if (value == plan.virtual_stages || plan.pp_degree == 1) return plan;
      plan.virtual_stages = value;
      plan.chunk_layers.clear();
      return plan;
    }};

}  // namespace packsim
