#pragma once

#include <set>

#include "models/state_traffic.hpp"
#include "scenarios/search_space/search_dimension.hpp"

namespace packsim {

/// ZeRO stages: 1, 2, 3 and the plan's own, and 0 where a trainer is named, which may have no other. In a
/// pipeline, stages 2 and 3 send and hold what stage 1 does, so they are tried only if they are said or the
/// plan's own.
inline constexpr SearchDimension kZeroStages = {
    .key = "zero_stages",
    .plan_key = "zero_stage",
    .shown = "ZeRO",
    .said = &StrategySpec::zero_stages,
    .plan_key_fixes = false,
    .usual =
        [](const Scenario& scenario, const ParallelPlan& own) {
          std::set<int> stages = {1, 2, 3, own.zero_stage};
          if (scenario.trainer != nullptr) stages.insert(0);
          return std::vector<int>(stages.begin(), stages.end());
        },
    .value = [](const ParallelPlan& plan) { return plan.zero_stage; },
    .with = [](ParallelPlan plan, int value, bool is_said,
               const ParallelPlan& own) -> std::optional<ParallelPlan> {
      if (plan.pp_degree > 1 && !is_said && value > 1 && value != own.zero_stage) return std::nullopt;
      return value == plan.zero_stage ? plan : with_zero_stage(plan, value);
    }};

}  // namespace packsim
