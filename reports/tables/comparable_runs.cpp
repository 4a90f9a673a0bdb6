#include "reports/tables/comparable_runs.hpp"

#include <fmt/format.h>

#include "reports/text/numbers.hpp"

namespace packsim::formats_detail {
namespace {

double excess_bytes(const PlannedGroup& group) {
  return group.peak_memory_bytes - group.gpu_memory_bytes;
}

const PlannedGroup* largest_misfit(const StrategyResult& run) {
  const PlannedGroup* worst = nullptr;
  for (const PlannedGroup& group : run.groups) {
    if (group.feasible) continue;
    if (worst == nullptr || excess_bytes(group) > excess_bytes(*worst)) worst = &group;
  }
  return worst;
}

}  // namespace

bool has_time(const StrategyResult& run) {
  return run.times && run.times->gpu_days > 0;
}

bool is_comparable(const StrategyResult& run) {
  return has_time(run) && run.differences.empty();
}

bool is_another_job(const StrategyResult& run) {
  return has_time(run) && !run.differences.empty();
}

const StrategyResult* baseline_run(const Report& report) {
  for (const StrategyResult& run : report.runs) {
    if (run.name == report.baseline) return &run;
  }
  return nullptr;
}

const StrategyResult* fastest_run(const Report& report, const StrategyResult* excluded) {
  const StrategyResult* fastest = nullptr;
  for (const StrategyResult& run : report.runs) {
    if (&run == excluded || !is_comparable(run)) continue;
    if (fastest == nullptr || run.times->gpu_days < fastest->times->gpu_days) fastest = &run;
  }
  return fastest;
}

std::string obstacle(const StrategyResult& run) {
  if (run.failure) return "failed";
  if (!run.feasible) return "does not fit in memory";
  if (!has_time(run)) return "has no iteration";
  return "trains another job";
}

std::optional<double> memory_excess_bytes(const StrategyResult& run) {
  const PlannedGroup* worst = largest_misfit(run);
  return worst == nullptr ? std::nullopt : std::optional(excess_bytes(*worst));
}

std::string memory_excess(const StrategyResult& run) {
  const PlannedGroup* worst = largest_misfit(run);
  if (worst == nullptr) return "";
  return fmt::format("group {} needs {} ({} GiB too much)", capacity(worst->capacity_tokens),
                     gibibytes_used(worst->peak_memory_bytes, worst->gpu_memory_bytes),
                     gibibytes(excess_bytes(*worst)));
}

std::string policies(const StrategyResult& run) {
  const std::string text = fmt::format("order {}; last iteration {}; padding {}; over-long {}",
                                       policy_name(kPackOrderNames, run.policies.order),
                                       policy_name(kLastIterationNames, run.policies.last_iteration),
                                       policy_name(kPaddingNames, run.policies.padding),
                                       policy_name(kOverLongNames, run.policies.over_long));
  return run.policies.attention == Attention::across_samples ? text + "; attention across samples" : text;
}

}  // namespace packsim::formats_detail
