#pragma once

#include <memory>
#include <vector>

#include "experiment/plan_strategy.hpp"
#include "models/step/step_pricer.hpp"
#include "sim/run/simulate.hpp"

namespace packsim {

/// A planned strategy with the price of every pack that its schedule trains.
struct PricedStrategy {
  std::vector<PricedGroup> groups;
  /// GPU time of the whole schedule, before waits, by what it rests on.
  PriceAccount account;
  /// Keep what the prices refer to.
  std::vector<std::unique_ptr<StepPricer>> pricers;
};

/// How the scenario's steps are simulated: at op level, sharing the links of a topology, or without it.
SimulationOptions simulation_options(const Scenario& scenario, const Topology* topology);

PricedStrategy price_strategy(const Scenario& scenario, const PlannedStrategy& plan);

}  // namespace packsim
