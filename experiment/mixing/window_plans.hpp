#pragma once

#include "experiment/mixing/mixed_draws.hpp"
#include "experiment/plans/plan_strategy.hpp"
#include "experiment/search/find_plan.hpp"

namespace packsim {

/// Packs and schedules the draws of a mixture, as StrategySpec::mixture_packs says, with the plan that the
/// strategy is given or has found for the draws that StrategySpec::mixture_plan names.
///
/// A window is packed and scheduled by itself. Packs of it that fill no iteration wait for the next window,
/// in which their samples are packed anew; the last window does what the strategy does at the end of its
/// data. The items of the plan are draws.
///
/// prior: the same mixture standing still, for MixturePlan::prior. Throws what find_plan() throws, and
/// std::invalid_argument for strategies that cut samples, pieces of which cannot wait.
FoundPlan find_mixture_plan(const Scenario& scenario, const StrategySpec& spec, const MixedDraws& draws,
                            const MixedDraws& prior, SharedPrices& prices);

}  // namespace packsim
