#include "reports/tables/comparable_runs.hpp"

#include <fmt/format.h>

#include "experiment/results/misfit.hpp"
#include "reports/text/numbers.hpp"

namespace packsim::formats_detail {

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

std::string memory_need(const PlannedGroup& group) {
  const MemoryNeed need = scarcest_memory(group);
  return gibibytes_used(need.needed_bytes, need.room_bytes) +
         (need.is_host ? " of a node's host memory" : "");
}

std::string memory_excess(const StrategyResult& run) {
  const PlannedGroup* worst = largest_misfit(run);
  if (worst == nullptr) return "";
  return fmt::format("group {} needs {} ({} GiB too much)", capacity(worst->capacity_tokens),
                     memory_need(*worst), gibibytes(scarcest_memory(*worst).excess_bytes()));
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
