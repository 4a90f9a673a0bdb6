#pragma once

#include "scenarios/search_space/search_dimension.hpp"

namespace packsim {

/// Parts of its tokens that the MLP takes one after another, which saves memory and takes time. Only the
/// plan's own, unless more are said.
inline constexpr SearchDimension kMlpTiles = {.key = "mlp_tile_counts",
                                              .plan_key = "mlp_tiles",
                                              .shown = "MLP tiles",
                                              .said = &StrategySpec::mlp_tile_counts,
                                              .usual = nullptr,
                                              .value = value_of_field<&ParallelPlan::mlp_tiles>,
                                              .with = with_field<&ParallelPlan::mlp_tiles>};

}  // namespace packsim
