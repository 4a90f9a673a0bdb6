#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "experiment/results/strategy_result.hpp"

namespace packsim::formats_detail {

/// What GPUs spend their time on, as people read it. The parts of a run add up to its GPU-days.
struct TimePart {
  std::string_view name;
  std::optional<Cause> cause;  ///< none: idle
  /// A sentence's start for a run that spends less on it than another: "GPUs wait", and what follows the
  /// number: "less for each other".
  std::string_view subject;
  std::string_view object;

  double fraction_of(const TimeShares& shares) const { return cause ? shares.of(*cause) : shares.idle; }
  /// run: with times.
  double fraction(const StrategyResult& run) const;
  double gpu_days(const StrategyResult& run) const;
};

/// Charts stack the parts in this order.
std::span<const TimePart> time_parts();

/// Its key in report.json and report.csv: the fraction of the run's time.
std::string fraction_key(const TimePart& part);

}  // namespace packsim::formats_detail
