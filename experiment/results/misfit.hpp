#pragma once

#include <optional>

#include "experiment/results/report.hpp"

namespace packsim {

/// The group that is shortest of memory, of those that do not fit; null if all fit.
const PlannedGroup* largest_misfit(const StrategyResult& run);

/// The run that is least short of memory, of those that do not fit; null if there is none.
const StrategyResult* nearest_to_fitting(const Report& report);

}  // namespace packsim
