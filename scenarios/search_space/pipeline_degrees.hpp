#pragma once

#include "scenarios/search_space/search_dimension.hpp"

namespace packsim {

/// Pipeline stages: each number that divides the GPUs. The plan's own layers of chunks are for its own number
/// of stages.
inline constexpr SearchDimension kPipelineDegrees = {
    .key = "pp_degrees",
    .plan_key = "pp_degree",
    .shown = "PP",
    .said = &StrategySpec::pp_degrees,
    .usual = [](const Scenario& scenario,
                const ParallelPlan&) { return divisors(scenario.cluster.n_gpus()); },
    .value = [](const ParallelPlan& plan) { return plan.pp_degree; },
    .with = [](ParallelPlan plan, int value, bool, const ParallelPlan& own) -> std::optional<ParallelPlan> {
      plan.pp_degree = value;
      if (value != own.pp_degree) plan.chunk_layers.clear();
      if (value == 1) plan.virtual_stages = 1;
      if (plan.virtual_stages == 1 && value != own.pp_degree) plan.pipeline_schedule = nullptr;
      return plan;
    }};

}  // namespace packsim
