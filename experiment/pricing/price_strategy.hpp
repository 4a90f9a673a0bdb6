#pragma once

#include <memory>
#include <vector>

#include "experiment/plans/plan_strategy.hpp"
#include "experiment/pricing/shared_prices.hpp"
#include "sim/run/simulate.hpp"

namespace packsim {

/// A planned strategy with the price of every pack that its schedule trains.
struct PricedStrategy {
  std::vector<PricedGroup> groups;
  /// GPU time of the whole schedule, before waits, by what it rests on.
  PriceAccount account;
  /// Keep what the prices refer to.
  std::shared_ptr<ScenarioPricers> pricers;
};

/// How the scenario's steps are simulated: at op level, sharing the links of a topology, or without it.
SimulationOptions simulation_options(const Scenario& scenario, const Topology* topology);

/// pricers: of the scenario, of nobody else meanwhile; null: its own.
PricedStrategy price_strategy(const Scenario& scenario, const PlannedStrategy& plan,
                              std::shared_ptr<ScenarioPricers> pricers = nullptr);

}  // namespace packsim
