#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "experiment/plans/pack_cache.hpp"
#include "experiment/plans/planned_strategy.hpp"
#include "experiment/pricers/shared_prices.hpp"
#include "packing/pack.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// Packs and schedules with the groups that the strategy has or, if it chooses them, with the ones that its
/// own prices say are best. With spec.repack_each_epoch and more than one epoch, each epoch has packs of its
/// own (plan_each_epoch()). spec.searches_plan is not read; find_plan() searches.
///
/// known: packs and schedules of these lengths that need not be made again; may be null.
PlannedStrategy plan_strategy(const Scenario& scenario, const StrategySpec& spec,
                              std::span<const std::int32_t> lengths_tokens, ScenarioPricers& pricers,
                              PackCache* known = nullptr);
/// The same with pricers of its own.
PlannedStrategy plan_strategy(const Scenario& scenario, const StrategySpec& spec,
                              std::span<const std::int32_t> lengths_tokens);

/// The strategy's plan for a job of which no pack fits in memory: its longest samples on as many GPUs as
/// possible, with all layers checkpointed, to show what is missing.
PlannedStrategy plan_what_does_not_fit(const Scenario& scenario, const StrategySpec& spec,
                                       std::span<const std::int32_t> lengths_tokens);

/// Schedules packs that were made without the strategy's own pack(). groups: [n_groups] of the packing.
PlannedStrategy schedule_packing(const Scenario& scenario, const StrategySpec& spec, Packing packing,
                                 std::span<const GroupSpec> groups);

PackRequest pack_request(const StrategySpec& spec, std::span<const GroupSpec> groups,
                         std::span<const std::int32_t> lengths_tokens);

}  // namespace packsim
