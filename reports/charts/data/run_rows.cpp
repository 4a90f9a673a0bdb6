#include <fmt/format.h>

#include <algorithm>

#include "reports/charts/data/chart_rows.hpp"
#include "reports/tables/comparable_runs.hpp"
#include "reports/text/numbers.hpp"

namespace packsim::formats_detail {
namespace {

std::string gpu_days_label(const StrategyResult& run, const Report& report) {
  if (run.failure) return "failed: " + *run.failure;
  if (!run.feasible) return "does not fit: " + memory_excess(run);
  std::string days = run.times ? quantity(run.times->gpu_days) : "-";
  if (!run.differences.empty()) days += ", another job";
  if (run.name == report.baseline) return days + " (baseline)";
  return run.speedup ? fmt::format("{} ({:.2f}x)", days, run.speedup->value) : days;
}

// Why a run has no bar, in a word or two; empty for one that has.
std::string_view misfit(const StrategyResult& run) {
  if (run.failure) return "failed";
  return run.feasible ? "" : "does not fit";
}

}  // namespace

ChartRows run_rows(const Report& report) {
  ChartRows rows = ChartRows::array();
  const double longest = longest_bar_gpu_days(report);
  for (const StrategyResult* each : by_gpu_days(report)) {
    const StrategyResult& run = *each;
    const bool has_interval = has_time(run) && run.times->gpu_days_low > 0;
    rows.push_back(
        {{"run", run.name},
         {"bar_gpu_days", has_time(run) ? five_digits(std::min(run.times->gpu_days, longest)) : 0.0},
         {"broken", has_time(run) && run.times->gpu_days > longest},
         {"low_gpu_days", has_interval ? ChartRows(five_digits(run.times->gpu_days_low)) : ChartRows()},
         {"high_gpu_days", has_interval ? ChartRows(five_digits(run.times->gpu_days_high)) : ChartRows()},
         {"interval", has_interval ? ChartRows(quantity(run.times->gpu_days_low) + " to " +
                                               quantity(run.times->gpu_days_high))
                                   : ChartRows("not known")},
         {"bound_gpu_days", run.bound ? ChartRows(five_digits(run.bound->gpu_days)) : ChartRows()},
         {"role", run.name == report.baseline ? "baseline" : "compared"},
         {"feasible", run.feasible && !run.failure},
         {"gpu_days", has_time(run) ? five_digits(run.times->gpu_days) : 0.0},
         {"label", gpu_days_label(run, report)},
         {"short_label", has_time(run) ? quantity(run.times->gpu_days) : std::string(misfit(run))},
         {"misfit", misfit(run)}});
  }
  return rows;
}

ChartRows cost_rows(const Report& report) {
  ChartRows rows = ChartRows::array();
  const double longest_gpu_days = longest_bar_gpu_days(report);
  for (const StrategyResult* run : by_gpu_days(report)) {
    if (!has_time(*run) || !run->cost || !run->cost->money) continue;
    const RunCost& cost = *run->cost;
    const double money = *cost.money;
    const double longest = money * longest_gpu_days / run->times->gpu_days;
    std::string label = quantity(money);
    if (cost.money_low && cost.money_high)
      label += fmt::format(" ({} to {})", quantity(*cost.money_low), quantity(*cost.money_high));
    rows.push_back(
        {{"run", run->name},
         {"bar", five_digits(std::min(money, longest))},
         {"broken", money > longest},
         {"low", cost.money_low ? ChartRows(five_digits(*cost.money_low)) : ChartRows()},
         {"high", cost.money_high ? ChartRows(five_digits(*cost.money_high)) : ChartRows()},
         {"with_failures",
          cost.money_with_failures ? ChartRows(five_digits(*cost.money_with_failures)) : ChartRows()},
         {"label", label},
         {"short_label", quantity(money)}});
  }
  return rows;
}

}  // namespace packsim::formats_detail
