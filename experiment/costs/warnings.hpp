#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiment/results/report.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// A sentence if the scenario is a what-if in which exchange or waits cost nothing; no job is like that.
std::optional<std::string> what_if_warning(const Scenario& scenario);

/// A warning for each respect in which the scenario differs from the steps that its profile was fitted to.
std::vector<std::string> extrapolation_warnings(const Scenario& scenario);

/// A warning for a run that trains nothing, or that would never finish because of failures.
std::vector<std::string> run_warnings(const StrategyResult& run);

}  // namespace packsim
