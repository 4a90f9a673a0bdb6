#pragma once

#include <memory>
#include <vector>

#include "experiment/plans/plan_strategy.hpp"
#include "experiment/pricers/shared_prices.hpp"
#include "sim/run/simulate.hpp"

namespace packsim {

/// A planned strategy with the price of every pack that its schedule trains.
struct PricedStrategy {
  std::vector<PricedGroup> groups;
  /// Owns the prices that `groups` refers to.
  std::shared_ptr<ScenarioPricers> pricers;
};

/// How steps of the scenario are simulated: at op level with transfers that share the links of `topology`, or
/// at step level if it is null.
SimulationOptions simulation_options(const Scenario& scenario, const Topology* topology);

/// pricers: those of the scenario. Nothing else may use them as long as the result exists. Null: new ones are
/// made.
PricedStrategy price_strategy(const Scenario& scenario, const PlannedStrategy& plan,
                              std::shared_ptr<ScenarioPricers> pricers = nullptr);

/// GPU time of the whole schedule without waits, by the evidence for its prices. It takes about as long as
/// the prices.
PriceAccount account_of(const PlannedStrategy& plan, const PricedStrategy& priced);

/// GPU seconds of the forward passes of the whole schedule: computation and exchange in and between the
/// layers, and the framework's overhead. Weights that are gathered, and ranks that wait, are not in it.
double forward_gpu_s(const PlannedStrategy& plan, const PricedStrategy& priced);

}  // namespace packsim
