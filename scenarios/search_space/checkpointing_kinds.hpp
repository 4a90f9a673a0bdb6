#pragma once

#include "scenarios/search_space/search_dimension.hpp"

namespace packsim {

/// What a checkpointed layer recomputes: all that has a name. The modules of a scenario are tried alone.
inline constexpr SearchDimension kCheckpointingKinds = {
    .key = "checkpointing_kinds",
    .plan_key = "checkpointing",
    .shown = "GC",
    .said = &StrategySpec::checkpointing_kinds,
    .usual =
        [](const Scenario&, const ParallelPlan&) {
          return std::vector<int>{static_cast<int>(Checkpointing::full),
                                  static_cast<int>(Checkpointing::selective),
                                  static_cast<int>(Checkpointing::operations)};
        },
    .value = [](const ParallelPlan& plan) { return static_cast<int>(plan.checkpointing); },
    .with = [](ParallelPlan plan, int value, bool, const ParallelPlan&) -> std::optional<ParallelPlan> {
      plan.checkpointing = static_cast<Checkpointing>(value);
      if (plan.checkpointing != Checkpointing::modules) plan.recomputed_modules = {};
      return plan;
    }};

}  // namespace packsim
