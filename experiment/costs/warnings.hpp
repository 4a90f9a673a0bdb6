#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiment/results/report.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// A warning for each respect in which the scenario differs from the steps that its profile was fitted to.
std::vector<std::string> extrapolation_warnings(const Scenario& scenario);

/// A warning for each reason why a run is hard to compare with others: it trains nothing, its iterations have
/// another size than tokens_per_iteration, it would never finish because of failures, or it trains much of
/// the data twice. data_tokens: tokens of the data set.
std::vector<std::string> run_warnings(const StrategyResult& run, const Scenario& scenario,
                                      std::int64_t data_tokens);

}  // namespace packsim
