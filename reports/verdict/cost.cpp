#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/text/numbers.hpp"
#include "reports/verdict/sentences.hpp"

namespace packsim::formats_detail {
namespace {

std::string money_text(const StrategyResult& best) {
  if (!best.cost || !best.cost->money) return "";
  return fmt::format(" Money: {}{}.", quantity(*best.cost->money),
                     interval_note(best.cost->money_low.value_or(0), best.cost->money_high.value_or(0)));
}

// "start-up and evaluation"; empty where it takes nothing.
std::string parts_text(const WholeRun& run) {
  std::vector<std::string_view> parts;
  for (const auto& [what, time_s] : {std::pair("start-up", run.startup_s),
                                     {"first steps", run.first_steps_s},
                                     {"waits for data", run.data_wait_s},
                                     {"evaluation", run.evaluation_s},
                                     {"checkpoints", run.checkpoint_s},
                                     {"the end", run.finish_s}}) {
    if (time_s > 0) parts.emplace_back(what);
  }
  if (parts.empty()) return "";
  const std::string_view last = parts.back();
  parts.pop_back();
  return parts.empty() ? std::string(last) : fmt::format("{} and {}", fmt::join(parts, ", "), last);
}

std::string whole_text(const StrategyResult& best) {
  if (!best.whole) return "";
  const WholeRun& run = *best.whole;
  const std::string parts = parts_text(run);
  if (parts.empty()) return "";
  return fmt::format(" With {}: {} GPU-days{}, {} h.", parts, quantity(run.gpu_days),
                     interval_note(run.gpu_days_low, run.gpu_days_high), quantity(run.wall_hours));
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
                  interval_note(times.gpu_days_low, times.gpu_days_high), quantity(times.wall_hours));
  if (times.utilisation.mfu_fraction)
    text += fmt::format(", MFU {}", percent(*times.utilisation.mfu_fraction));
  if (best.bound && best.bound->above_fraction)
    text += fmt::format("; {} above the least possible over {} (lower bound)",
                        percent(*best.bound->above_fraction), best.bound->space);
  return text + "." + whole_text(best) + money_text(best) + surcharge_text(best);
}

}  // namespace packsim::formats_detail
