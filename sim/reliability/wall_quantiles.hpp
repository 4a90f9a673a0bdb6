#pragma once

#include <span>

#include "sim/reliability/period_time.hpp"
#include "sim/reliability/reliability_result.hpp"

namespace packsim {

/// A period and how often a run has its like.
struct EqualTimes {
  PeriodTime time;
  double n = 0;
};

/// Quantiles of the sum of independent period times, from its Fourier series over 40 standard deviations,
/// smoothed by 1 % of one. mean_delay_s, sd_s: of the sum less its shortest value, finite, sd_s > 0.
/// Source: Abate and Whitt, The Fourier-series method for inverting transforms of probability distributions,
/// Queueing Systems 10 (1992).
WallQuantiles wall_quantiles(std::span<const EqualTimes> times, double mean_delay_s, double sd_s);

}  // namespace packsim
