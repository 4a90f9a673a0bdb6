#pragma once

#include <functional>
#include <limits>
#include <string>

#include "experiment/plans/plan_strategy.hpp"
#include "experiment/pricers/shared_prices.hpp"
#include "experiment/results/strategy_result.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

struct MixedDraws;

/// How finely steps are simulated.
enum class Level {
  /// All that a rank does between two synchronisations is one operation; transfers do not share links.
  step,
  /// Runs of kernels, collectives and transfers are operations; transfers share links and slow down
  /// computation.
  op,
};

/// Receives progress messages, such as "simulating iteration 4096 of 8192".
using Say = std::function<void(const std::string&)>;

struct PlanSimulation {
  Level level = Level::step;
  double most_step_bytes = std::numeric_limits<double>::infinity();  ///< see SimulationOptions
  /// Leaves out the loss bias, the slowest steps and the timelines, which take long if there are many packs.
  bool only_times = false;
  /// The draws of which the plan was made, where the scenario has a mixture; else null.
  const MixedDraws* draws = nullptr;
};

/// Simulates a planned strategy. The result lacks the speed-up and the gap to the lower bound, which depend
/// on other strategies. prices: those of the scenario, which threads may share.
StrategyResult simulate_plan(const Scenario& scenario, const StrategySpec& spec, const PlannedStrategy& plan,
                             SharedPrices& prices, const PlanSimulation& options, const Say& say);

}  // namespace packsim
