#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "experiment/results/strategy_result.hpp"
#include "models/cause.hpp"

namespace packsim::formats_detail {

/// A part of the GPU time of a run, as tables and charts name it.
struct TimePart {
  std::string_view name;
  std::optional<Cause> cause;  ///< none: idle

  double fraction_of(const TimeShares& shares) const { return cause ? shares.of(*cause) : shares.idle; }
};

/// All parts, which add up to the whole, in the order in which charts stack them.
inline constexpr std::array<TimePart, kNCauses + 1> kTimeParts = {{{"linear layers", Cause::linear},
                                                                   {"attention", Cause::attention},
                                                                   {"recompute", Cause::recompute},
                                                                   {"sequence exchange", Cause::sequence},
                                                                   {"tensor exchange", Cause::tensor},
                                                                   {"expert exchange", Cause::expert},
                                                                   {"pipeline transfer", Cause::pipeline},
                                                                   {"gradients, weights", Cause::states},
                                                                   {"optimizer", Cause::optimizer},
                                                                   {"fixed overhead", Cause::overhead},
                                                                   {"idle", std::nullopt}}};

/// Its key in report.json and report.csv: the fraction of the run's time.
inline std::string fraction_key(const TimePart& part) {
  return std::string(part.cause ? cause_name(*part.cause) : "idle") + "_fraction";
}

}  // namespace packsim::formats_detail
