#include "validation/interval_score.hpp"

#include <algorithm>
#include <cmath>

namespace packsim {
namespace {

constexpr double kOutside = 0.1;  // the share of values that a 90 % interval leaves out

std::vector<double> distances(const std::vector<ValidationRow>& rows) {
  std::vector<double> found;
  for (const ValidationRow& row : rows)
    if (row.interval) found.push_back(std::abs(std::log(row.published / row.predicted)));
  return found;
}

}  // namespace

double interval_score(double half_width, double distance) {
  return 2 * half_width + 2 / kOutside * std::max(0.0, distance - half_width);
}

double mean_interval_score(const std::vector<ValidationRow>& rows) {
  double sum = 0;
  double n = 0;
  for (const ValidationRow& row : rows) {
    if (!row.interval) continue;
    const double half_width = std::log(row.interval->high / row.interval->low) / 2;
    sum += interval_score(half_width, std::abs(std::log(row.published / row.predicted)));
    ++n;
  }
  return n > 0 ? sum / n : 0;
}

double best_constant_score(const std::vector<ValidationRow>& rows) {
  std::vector<double> all = distances(rows);
  if (all.empty()) return 0;
  // A little more width costs 2, and saves 20 for each value outside: the best leaves out a tenth of them.
  const auto n_outside = static_cast<std::ptrdiff_t>(kOutside * static_cast<double>(all.size()));
  std::ranges::nth_element(all, all.end() - 1 - n_outside);
  const double half_width = *(all.end() - 1 - n_outside);
  double sum = 0;
  for (const double distance : all) sum += interval_score(half_width, distance);
  return sum / static_cast<double>(all.size());
}

}  // namespace packsim
