#pragma once

#include "experiment/report.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// What the scenario's failures make of a run that takes work_s without them. Does nothing where the scenario
/// has none. Closed forms; runs with a pool of spare units are simulated, with the scenario's seed.
void set_failures(const Scenario& scenario, double work_s, StrategyResult& result);

}  // namespace packsim
