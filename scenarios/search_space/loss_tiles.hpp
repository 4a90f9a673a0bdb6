#pragma once

#include "scenarios/search_space/search_dimension.hpp"

namespace packsim {

/// Parts of its tokens that the loss takes one after another, which saves memory. Only the plan's own, unless
/// more are said.
inline constexpr SearchDimension kLossTiles = {.key = "loss_tile_counts",
                                               .plan_key = "loss_tiles",
                                               .shown = "loss tiles",
                                               .said = &StrategySpec::loss_tile_counts,
                                               .usual = nullptr,
                                               .value = value_of_field<&ParallelPlan::loss_tiles>,
                                               .with = with_field<&ParallelPlan::loss_tiles>};

}  // namespace packsim
