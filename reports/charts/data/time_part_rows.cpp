#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "reports/charts/data/chart_rows.hpp"
#include "reports/tables/comparable_runs.hpp"
#include "reports/tables/rounded_parts.hpp"
#include "reports/tables/time_parts.hpp"

namespace packsim::formats_detail {
namespace {

// What no run has would be an empty entry of the legend.
std::vector<TimePart> parts_of(const Report& report) {
  std::vector<TimePart> parts;
  for (const TimePart& part : time_parts()) {
    const auto has_it = [&](const StrategyResult& run) { return has_time(run) && part.fraction(run) > 0; };
    if (std::ranges::any_of(report.runs, has_it)) parts.push_back(part);
  }
  return parts;
}

std::vector<const StrategyResult*> timed_runs(const Report& report) {
  std::vector<const StrategyResult*> timed;
  for (const StrategyResult* run : by_gpu_days(report))
    if (has_time(*run)) timed.push_back(run);
  return timed;
}

// Decimals with which the least run's GPU-days have four digits.
int decimals_of(double least_gpu_days) {
  return std::max(0, 3 - static_cast<int>(std::floor(std::log10(least_gpu_days))));
}

}  // namespace

ChartRows part_rows(const Report& report) {
  ChartRows rows = ChartRows::array();
  for (const TimePart& part : parts_of(report))
    rows.push_back({{"part", part.name}, {"position", rows.size()}});
  return rows;
}

ChartRows time_part_rows(const Report& report) {
  ChartRows rows = ChartRows::array();
  const double longest = longest_bar_gpu_days(report);
  const std::vector<TimePart> parts = parts_of(report);
  for (const StrategyResult* run : timed_runs(report)) {
    double sum = 0;
    double sum_fraction = 0;
    for (const TimePart& part : parts) {
      const double gpu_days = part.gpu_days(*run);
      const double fraction = part.fraction(*run);
      rows.push_back({{"run", run->name},
                      {"part", part.name},
                      {"gpu_days", five_digits(gpu_days)},
                      {"fraction", five_digits(fraction)},
                      // The axis ends where bars are broken off, so both ends of the bar do.
                      {"from_gpu_days", five_digits(std::min(sum, longest))},
                      {"to_gpu_days", five_digits(std::min(sum + gpu_days, longest))},
                      {"from_fraction", five_digits(sum_fraction)},
                      {"to_fraction", five_digits(std::min(1.0, sum_fraction + fraction))}});
      sum += gpu_days;
      sum_fraction += fraction;
    }
  }
  return rows;
}

ChartRows waterfall_rows(const Report& report) {
  ChartRows rows = ChartRows::array();
  std::vector<const StrategyResult*> timed = timed_runs(report);
  if (timed.size() < 2) return rows;
  // The cheapest run, and then the one that readers compare it with first.
  std::ranges::stable_partition(timed.begin() + 1, timed.end(),
                                [&](const StrategyResult* run) { return run->name == report.baseline; });
  const int decimals = decimals_of(timed.front()->times->gpu_days);
  for (const StrategyResult* run : timed) {
    const std::vector<std::int64_t> units =
        time_parts_in_units(run->times->shares, run->times->gpu_days, decimals);
    const auto add = [&](std::string_view part, std::string_view kind, std::int64_t value) {
      rows.push_back(
          {{"run", run->name}, {"part", part}, {"kind", kind}, {"units", value}, {"decimals", decimals}});
    };
    for (std::size_t p = 0; p < units.size(); ++p)
      if (units[p] != 0) add(time_parts()[p].name, "part", units[p]);
    const std::int64_t total = std::accumulate(units.begin(), units.end(), std::int64_t{0});
    add("from", "from", total);
    add("to", "to", total);
  }
  return rows;
}

}  // namespace packsim::formats_detail
