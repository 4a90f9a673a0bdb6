#pragma once

#include <cstdint>
#include <vector>

#include "experiment/results/strategy_result.hpp"

namespace packsim {

/// Parts in whole units, which add up to `total` units. Each is its value rounded down or up: those with the
/// largest remainders are rounded up, as many as are missing. Of equal remainders the first one.
///
/// values: not negative, in units; their sum is within half a unit of total.
std::vector<std::int64_t> rounded_parts(const std::vector<double>& values, std::int64_t total);

/// A run's GPU-days by time_parts() in units of 10^-decimals GPU-days: they add up to the run's GPU-days in
/// the nearest number of units.
///
/// shares: not all 0.
std::vector<std::int64_t> time_parts_in_units(const TimeShares& shares, double gpu_days, int decimals);

}  // namespace packsim
