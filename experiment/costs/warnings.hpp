#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiment/results/report.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// What the scenario's profile was fitted to and the scenario is not.
std::vector<std::string> extrapolation_warnings(const Scenario& scenario);

/// What makes a run's times hard to compare: steps of other sizes than asked for, which train differently;
/// data trained once more; no iteration at all. data_tokens: of one epoch.
std::vector<std::string> run_warnings(const StrategyResult& run, const Scenario& scenario,
                                      std::int64_t data_tokens);

}  // namespace packsim
