#include "reports/charts/shown_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "reports/tables/comparable_runs.hpp"
#include "reports/terminal/runs_table.hpp"
#include "reports/text/numbers.hpp"

namespace packsim::formats_detail {

Report with_shown_runs(const Report& report) {
  if (report.runs.size() <= kMostShownRuns) return report;
  std::vector<const StrategyResult*> runs = foremost_runs(report, kMostShownRuns);
  std::ranges::sort(runs);  // as they stand in the report
  Report shown{.manifest = report.manifest,
               .lengths = report.lengths,
               .mixture = report.mixture,
               .baseline = report.baseline,
               .runs = {},
               .without_trainer = report.without_trainer,
               .fitting = report.fitting,
               .bounds = report.bounds,
               .total_s = report.total_s,
               .peak_memory_bytes = report.peak_memory_bytes};
  for (const StrategyResult* run : runs) shown.runs.push_back(*run);
  return shown;
}

std::string shown_runs_sentence(const Report& report) {
  if (report.runs.size() <= kMostShownRuns) return "";
  return fmt::format(
      "Charts and tables show {} of {} runs: those with the fewest GPU-days, runs that can be compared "
      "before "
      "others{}. report.csv and report.json have all.",
      kMostShownRuns, grouped(static_cast<std::int64_t>(report.runs.size())),
      baseline_run(report) == nullptr ? "" : "; and the baseline");
}

}  // namespace packsim::formats_detail
