#pragma once

#include "scenarios/search_space/search_dimension.hpp"

namespace packsim {

/// Number formats of matrix products. They change what a model learns, so only the plan's own, unless more
/// are said.
inline constexpr SearchDimension kSearchedPrecisions = {.key = "precisions",
                                                        .plan_key = "precision",
                                                        .shown = "precision",
                                                        .said = &StrategySpec::precisions,
                                                        .usual = nullptr,
                                                        .value = value_of_field<&ParallelPlan::precision>,
                                                        .with = with_field<&ParallelPlan::precision>};

}  // namespace packsim
