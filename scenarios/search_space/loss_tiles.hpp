#pragma once

#include "scenarios/search_space/search_dimension.hpp"

namespace packsim {

/// Parts of its tokens that the loss takes one after another, which saves memory. Only the plan's own, unless
/// more are said.
inline constexpr SearchDimension kLossTiles = {
    .key = "loss_tile_counts",
    .plan_key = "loss_tiles",
    .shown = "loss tiles",
    .said = &StrategySpec::loss_tile_counts,
    .usual = nullptr,
    .value = [](const ParallelPlan& plan) { return plan.loss_tiles; },
    .with = [](ParallelPlan plan, int value, bool, const ParallelPlan&) -> std::optional<ParallelPlan> {
      plan.loss_tiles = value;
      return plan;
    }};

}  // namespace packsim
