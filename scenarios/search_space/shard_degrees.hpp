#pragma once

#include "scenarios/search_space/search_dimension.hpp"

namespace packsim {

/// GPUs over which ZeRO spreads states, for hybrid sharding; 0: all. Only the plan's own, unless more are
/// said.
inline constexpr SearchDimension kShardDegrees = {.key = "shard_degrees",
                                                  .plan_key = "shard_degree",
                                                  .shown = {},
                                                  .said = &StrategySpec::shard_degrees,
                                                  .usual = nullptr,
                                                  .value = value_of_field<&ParallelPlan::shard_degree>,
                                                  .with = with_field<&ParallelPlan::shard_degree>};

}  // namespace packsim
