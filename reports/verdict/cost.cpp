#include <fmt/format.h>

#include <cmath>

#include "reports/text/numbers.hpp"
#include "reports/verdict/sentences.hpp"

namespace packsim::formats_detail {
namespace {

std::string interval_text(double low, double high) {
  return low > 0 ? fmt::format(" (90%: {} to {})", quantity(low), quantity(high)) : "";
}

std::string money_text(const StrategyResult& best) {
  if (!best.cost || !best.cost->money) return "";
  return fmt::format(" Money: {}{}.", quantity(*best.cost->money),
                     interval_text(best.cost->money_low.value_or(0), best.cost->money_high.value_or(0)));
}

// The plans that a run waits for, and failures, make it cost more than the simulated GPU-days.
std::string surcharge_text(const StrategyResult& best) {
  std::string text;
  if (best.planning)
    text += fmt::format(" With waits for plans: {} GPU-days.", quantity(best.planning->gpu_days));
  if (!best.failures) return text;
  const FailureCost& cost = *best.failures;
  if (!std::isfinite(cost.gpu_days))
    return text + " With failures it would never finish: they come faster than it makes progress.";
  return text + fmt::format(" With failures: {} GPU-days ({} to {} in 90% of runs).", quantity(cost.gpu_days),
                            quantity(cost.gpu_days_p05), quantity(cost.gpu_days_p95));
}

}  // namespace

std::string cost_sentence(const StrategyResult& best) {
  const RunTimes& times = *best.times;
  std::string text =
      fmt::format("{} GPU-days{}, {} h of wall time", quantity(times.gpu_days),
                  interval_text(times.gpu_days_low, times.gpu_days_high), quantity(times.wall_hours));
  if (times.utilisation.mfu_fraction)
    text += fmt::format(", MFU {}", percent(*times.utilisation.mfu_fraction));
  if (best.bound && best.bound->above_fraction)
    text += fmt::format("; {} above the least possible over {} (lower bound)",
                        percent(*best.bound->above_fraction), best.bound->space);
  return text + "." + money_text(best) + surcharge_text(best);
}

}  // namespace packsim::formats_detail
