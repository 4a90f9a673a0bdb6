#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiment/results/job_differences.hpp"
#include "files/text/printable.hpp"
#include "reports/tables/comparable_runs.hpp"
#include "reports/text/numbers.hpp"
#include "reports/verdict/sentences.hpp"

namespace packsim::formats_detail {
namespace {

// The slowest run of the same strategy and data whose plan the scenario gives; null if there is none. It may
// be marked: what its plan has otherwise is what is looked for.
const StrategyResult* at_given_plan(const Report& report, const StrategyResult& searched) {
  const StrategyResult* slowest = nullptr;
  for (const StrategyResult& run : report.runs) {
    if (run.strategy != searched.strategy || run.search || !has_time(run)) continue;
    const auto trained = static_cast<double>(searched.counts.unrepeated_tokens());
    const auto more = static_cast<double>(run.counts.unrepeated_tokens()) - trained;
    if (std::abs(more) > kDataTolerance * trained) continue;
    if (slowest == nullptr || run.times->gpu_days > slowest->times->gpu_days) slowest = &run;
  }
  return slowest;
}

}  // namespace

std::optional<GainSplit> gain_split(const Report& report, const StrategyResult& best) {
  const StrategyResult* baseline = baseline_run(report);
  if (baseline == nullptr || !baseline->search || !is_comparable(*baseline)) return std::nullopt;
  const StrategyResult* given = at_given_plan(report, *baseline);
  if (given == nullptr || given->times->gpu_days <= baseline->times->gpu_days) return std::nullopt;
  return GainSplit{.given = given,
                   .by_plan_gpu_days = given->times->gpu_days - baseline->times->gpu_days,
                   .by_packing_gpu_days = baseline->times->gpu_days - best.times->gpu_days};
}

std::string split_sentence(const Report& report, const StrategyResult& best) {
  const std::optional<GainSplit> split = gain_split(report, best);
  if (!split || baseline_run(report) == &best) return "";
  return fmt::format(
      " Of what it saves against {}, {} GPU-days, {} come from a better plan and {} from packing.",
      printable_name(split->given->name), quantity(split->gpu_days()), quantity(split->by_plan_gpu_days),
      quantity(split->by_packing_gpu_days));
}

}  // namespace packsim::formats_detail
