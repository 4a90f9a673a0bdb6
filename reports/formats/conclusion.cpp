#include "reports/formats/conclusion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "reports/formats/numbers.hpp"

namespace packsim::formats_detail {
namespace {

std::int64_t untrained_tokens(const StrategyResult& run) {
  return run.dropped_tokens + run.truncated_tokens;
}

// A run can be fast because it leaves data out or cuts documents up; a sentence that calls it fast has to say
// so. `other`: what it is compared with, null for nothing.
std::string data_caveat(const StrategyResult& fast, const StrategyResult* other) {
  std::vector<std::string> caveats;
  const std::int64_t more_tokens = untrained_tokens(fast) - (other == nullptr ? 0 : untrained_tokens(*other));
  if (more_tokens > 0) {
    caveats.push_back(fmt::format("leaves {}{} tokens untrained", token_count(more_tokens),
                                  other == nullptr ? "" : " more"));
  }
  if (fast.split_samples > (other == nullptr ? 0 : other->split_samples)) {
    caveats.push_back(fmt::format("cuts {} samples into pieces", grouped(fast.split_samples)));
  }
  return caveats.empty() ? "." : fmt::format(", but {} {}.", fast.name, fmt::join(caveats, " and "));
}

// The fastest feasible run besides `excluded`.
const StrategyResult* fastest_besides(const Report& report, const StrategyResult* excluded) {
  const StrategyResult* fastest = nullptr;
  for (const StrategyResult& run : report.runs) {
    if (&run == excluded || !has_time(run)) continue;
    if (fastest == nullptr || run.gpu_days < fastest->gpu_days) fastest = &run;
  }
  return fastest;
}

}  // namespace

bool has_time(const StrategyResult& run) {
  return run.feasible && std::isfinite(run.gpu_days) && run.gpu_days > 0;
}

const StrategyResult* baseline_run(const Report& report) {
  for (const StrategyResult& run : report.runs) {
    if (run.name == report.baseline) return &run;
  }
  return nullptr;
}

const StrategyResult* fastest_run(const Report& report) {
  return fastest_besides(report, nullptr);
}

namespace {

std::string verdict(const Report& report) {
  if (report.runs.empty()) return "Nothing was compared.";
  const StrategyResult* winner = fastest_run(report);
  if (winner == nullptr) {
    const bool any_fits = std::ranges::any_of(report.runs, &StrategyResult::feasible);
    return any_fits ? "No run has an iteration." : "No run fits in GPU memory.";
  }
  const StrategyResult* baseline = baseline_run(report);
  if (baseline == nullptr || !has_time(*baseline)) {
    const std::string reason =
        baseline == nullptr ? ""
                            : fmt::format("; the baseline {} {}", baseline->name,
                                          baseline->feasible ? "has no iteration" : "does not fit in memory");
    return fmt::format("{} takes the least of what fits, {} GPU-days{}{}", winner->name,
                       quantity(winner->gpu_days), reason, data_caveat(*winner, nullptr));
  }
  if (winner != baseline) {
    return fmt::format("{} is {:.2f}x faster than {}: {} vs {} GPU-days{}", winner->name,
                       baseline->gpu_days / winner->gpu_days, baseline->name, quantity(winner->gpu_days),
                       quantity(baseline->gpu_days), data_caveat(*winner, baseline));
  }
  const StrategyResult* next = fastest_besides(report, baseline);
  if (next == nullptr) {
    return fmt::format("{} takes {} GPU-days, {} h of wall time.", winner->name, quantity(winner->gpu_days),
                       quantity(winner->wall_hours));
  }
  return fmt::format("Nothing is faster than the baseline {}: {} GPU-days; {} follows with {} ({:.2f}x){}",
                     winner->name, quantity(winner->gpu_days), next->name, quantity(next->gpu_days),
                     baseline->gpu_days / next->gpu_days, data_caveat(*winner, next));
}

// What the fastest run takes with failures; nothing where there are none.
std::string with_failures(const Report& report) {
  const StrategyResult* winner = fastest_run(report);
  if (!report.manifest.failures || winner == nullptr) return "";
  if (!std::isfinite(winner->gpu_days_with_failures))
    return fmt::format(" With failures no end of {} is to be expected.", winner->name);
  return fmt::format(" With failures {} takes {} GPU-days ({} to {} in 90 % of runs).", winner->name,
                     quantity(winner->gpu_days_with_failures), quantity(winner->gpu_days_with_failures_p05),
                     quantity(winner->gpu_days_with_failures_p95));
}

}  // namespace

std::string conclusion(const Report& report) {
  return verdict(report) + with_failures(report);
}

std::string memory_excess(const StrategyResult& run) {
  const GroupResult* worst = nullptr;
  const auto excess_bytes = [](const GroupResult& group) {
    return group.peak_memory_bytes - group.gpu_memory_bytes;
  };
  for (const GroupResult& group : run.groups) {
    if (group.feasible) continue;
    if (worst == nullptr || excess_bytes(group) > excess_bytes(*worst)) worst = &group;
  }
  if (worst == nullptr) return "";
  return fmt::format("group {} needs {} ({} GiB too much)", capacity(worst->capacity_tokens),
                     gibibytes_used(worst->peak_memory_bytes, worst->gpu_memory_bytes),
                     gibibytes(excess_bytes(*worst)));
}

std::string policies(const StrategyResult& run) {
  return fmt::format("order {}; last iteration {}; padding {}; over-long {}", run.order, run.last_iteration,
                     run.padding, run.over_long);
}

}  // namespace packsim::formats_detail
