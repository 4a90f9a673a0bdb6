#pragma once

#include <cstdint>
#include <span>

#include "experiment/plans/plan_strategy.hpp"
#include "experiment/pricers/shared_prices.hpp"
#include "experiment/results/plan_search.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// A strategy's packs and schedule, and how it came to its plan.
struct FoundPlan {
  /// The strategy with the plan that was chosen. If the planner has chosen another strategy's packs, it is
  /// that strategy under the planner's name.
  StrategySpec spec;
  PlannedStrategy plan;
  std::optional<PlanSearch> search = {};  ///< none if the scenario gives the plan
};

/// Packs and schedules with the plan that the scenario gives or, if it leaves the plan open, with the best
/// one that a search finds (docs/search.md).
///
/// known: as for plan_strategy(). Throws what plan_strategy() throws.
FoundPlan find_plan(const Scenario& scenario, const StrategySpec& spec,
                    std::span<const std::int32_t> lengths_tokens, SharedPrices& prices,
                    PackCache* known = nullptr);

}  // namespace packsim
