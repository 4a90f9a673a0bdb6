#pragma once

#include "experiment/mixing/mixed_draws.hpp"
#include "experiment/plans/plan_strategy.hpp"

namespace packsim {

/// Packs every arm by itself before the run, and draws packs in place of samples. An arm's pack is drawn with
/// the arm's probability over its samples a pack, so that samples come from arms in the right shares on
/// average. A window draws packs until they have the tokens of its draws. An arm's packs come in a shuffled
/// order, which begins anew when all have come.
///
/// The plan owns its draws, which are not those of `draws`: only windows and arms are taken from these.
/// Throws std::invalid_argument for a strategy that forms iterations, and under OverLong::truncate and drop.
PlannedStrategy plan_pools(const Scenario& scenario, const StrategySpec& spec, const MixedDraws& draws);

}  // namespace packsim
