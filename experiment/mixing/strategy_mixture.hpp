#pragma once

#include "experiment/mixing/mixed_draws.hpp"
#include "experiment/plans/plan_strategy.hpp"
#include "experiment/pricers/shared_prices.hpp"
#include "experiment/results/mixture_result.hpp"
#include "sim/run/simulate.hpp"

namespace packsim {

/// The windows of a simulated strategy, and the cost of measuring rewards. StrategyMixture::plan and still
/// are left out.
StrategyMixture strategy_mixture(const Scenario& scenario, const StrategySpec& spec,
                                 const PlannedStrategy& plan, const MixedDraws& draws,
                                 const SimulatedRun& run, ScenarioPricers& pricers);

}  // namespace packsim
