#include "reports/tables/rounded_parts.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "reports/tables/time_parts.hpp"

namespace packsim {

std::vector<std::int64_t> rounded_parts(const std::vector<double>& values, std::int64_t total) {
  std::vector<std::int64_t> parts;
  for (const double value : values) parts.push_back(static_cast<std::int64_t>(std::floor(value)));
  std::vector<std::size_t> by_remainder(values.size());
  std::iota(by_remainder.begin(), by_remainder.end(), std::size_t{0});
  std::ranges::stable_sort(by_remainder, std::ranges::greater(),
                           [&](std::size_t i) { return values[i] - std::floor(values[i]); });
  std::int64_t missing = total - std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
  for (const std::size_t i : by_remainder) {
    if (missing-- <= 0) break;
    ++parts[i];
  }
  return parts;
}

std::vector<std::int64_t> time_parts_in_units(const TimeShares& shares, double gpu_days, int decimals) {
  using formats_detail::time_parts;
  using formats_detail::TimePart;
  const double units_per_day = std::pow(10.0, decimals);
  double sum = 0;
  for (const TimePart& part : time_parts()) sum += part.fraction_of(shares);
  std::vector<double> values;
  for (const TimePart& part : time_parts())
    values.push_back(part.fraction_of(shares) / sum * gpu_days * units_per_day);
  return rounded_parts(values, std::llround(gpu_days * units_per_day));
}

}  // namespace packsim
