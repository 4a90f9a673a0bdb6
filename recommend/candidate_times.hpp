#pragma once

#include <optional>

#include "experiment/results/strategy_result.hpp"
#include "recommend/candidate.hpp"

namespace packsim {

/// What a run with times takes. With failures, expected times; both ends are then those of a run that is as
/// far off in its failures as in its prices.
CandidateTimes times_of(const StrategyResult& run, const std::optional<double>& gpu_hour_price);

}  // namespace packsim
