#pragma once

#include <optional>

#include "experiment/results/strategy_result.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// The cost of failures for a run that takes work_s without them, all that is beside its steps included; none
/// if the scenario has no failures. It follows from closed formulas. With a pool of spare units, runs are
/// simulated with the scenario's seed instead.
std::optional<FailureCost> failure_cost(const Scenario& scenario, double work_s);

}  // namespace packsim
