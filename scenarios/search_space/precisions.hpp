#pragma once

#include "scenarios/search_space/search_dimension.hpp"

namespace packsim {

/// Number formats of matrix products. They change what a model learns, so only the plan's own, unless more
/// are said.
inline constexpr SearchDimension kSearchedPrecisions = {
    .key = "precisions",
    .plan_key = "precision",
    .shown = "precision",
    .said = &StrategySpec::precisions,
    .usual = nullptr,
    .value = [](const ParallelPlan& plan) { return static_cast<int>(plan.precision); },
    .with = [](ParallelPlan plan, int value, bool, const ParallelPlan&) -> std::optional<ParallelPlan> {
      plan.precision = static_cast<Precision>(value);
      return plan;
    }};

}  // namespace packsim
