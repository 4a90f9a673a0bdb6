#pragma once

#include <functional>
#include <string>

#include "experiment/plans/plan_strategy.hpp"
#include "experiment/pricing/shared_prices.hpp"
#include "experiment/results/strategy_result.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// How finely steps are simulated.
enum class Level {
  step,  ///< micro-batches as single operations; nothing contends for links
  op,    ///< runs of kernels, collectives and transfers, which share links and slow computation down
};

/// Is told what is going on, e.g. "simulating iteration 4096 of 8192".
using Say = std::function<void(const std::string&)>;

/// What a planned strategy does and takes. The speed-up and the gap to the lower bound are left out, as they
/// depend on other strategies. prices: of the scenario; may be shared between threads.
StrategyResult simulate_plan(const Scenario& scenario, const StrategySpec& spec, const PlannedStrategy& plan,
                             SharedPrices& prices, Level level, const Say& say);

}  // namespace packsim
