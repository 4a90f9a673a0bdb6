#pragma once

#include <cstdint>
#include <span>

#include "experiment/plans/planned_strategy.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// What comes closest where no plan of a strategy leaves enough memory free.
struct NearestPlan {
  /// The strategy with the plan under which the longest sample lacks least memory, of those that may be
  /// chosen; its own if the sample fits under each.
  StrategySpec spec;
  bool may_fit = false;  ///< whether the longest sample may fit under any of these plans
};

/// Throws std::invalid_argument if the strategy, or the scenario's trainer, can run none of the plans.
NearestPlan nearest_plan(const Scenario& scenario, StrategySpec spec,
                         std::span<const std::int32_t> lengths_tokens);

/// Whether all packs leave the memory free that a search has to.
bool fits(const PlannedStrategy& plan);

}  // namespace packsim
