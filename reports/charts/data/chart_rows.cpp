#include "reports/charts/data/chart_rows.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "reports/tables/comparable_runs.hpp"
#include "reports/text/numbers.hpp"

namespace packsim::formats_detail {

double five_digits(double value) {
  return with_digits(value, 5);
}

std::vector<const StrategyResult*> by_gpu_days(const Report& report) {
  std::vector<const StrategyResult*> sorted;
  for (const StrategyResult& run : report.runs) sorted.push_back(&run);
  std::ranges::stable_sort(sorted, {}, [](const StrategyResult* run) {
    return has_time(*run) ? run->times->gpu_days : std::numeric_limits<double>::infinity();
  });
  return sorted;
}

double longest_bar_gpu_days(const Report& report) {
  std::vector<double> gpu_days;
  for (const StrategyResult* run : by_gpu_days(report))
    if (has_time(*run)) gpu_days.push_back(run->times->gpu_days);
  if (gpu_days.empty()) return 0;
  const double most = 3 * gpu_days[(gpu_days.size() - 1) / 2];
  if (gpu_days.back() <= most) return gpu_days.back();
  return 1.25 * *std::prev(std::ranges::upper_bound(gpu_days, most));
}

std::vector<std::size_t> evenly_spaced(std::size_t n, std::size_t most) {
  const std::size_t count = std::min(n, most);
  std::vector<std::size_t> chosen(count, 0);
  for (std::size_t i = 1; i < count; ++i) chosen[i] = i * (n - 1) / (count - 1);
  return chosen;
}

}  // namespace packsim::formats_detail
