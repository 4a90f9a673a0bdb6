#pragma once

#include <optional>

#include "experiment/results/strategy_result.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// The cost of failures for a run that takes work_s without them; none where the scenario has no failures.
/// Closed forms; runs with a pool of spare units are simulated, with the scenario's seed.
std::optional<FailureCost> failure_cost(const Scenario& scenario, double work_s);

}  // namespace packsim
