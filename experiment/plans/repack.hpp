#pragma once

#include <cstdint>
#include <span>

#include "experiment/plans/plan_strategy.hpp"

namespace packsim {

/// Plans every epoch with packs of its own: epoch e as a run of one epoch whose option seed is e more,
/// without a curriculum if e > 0. The plan has the packs and iterations of all epochs, one after another. A
/// strategy that may choose among ZeRO stages chooses in the first epoch.
///
/// Throws what plan_strategy() throws, and std::invalid_argument if the epochs have more samples than 32 bits
/// count.
PlannedStrategy plan_each_epoch(const Scenario& scenario, const StrategySpec& spec,
                                std::span<const std::int32_t> lengths_tokens, ScenarioPricers& pricers);

}  // namespace packsim
