#include "sim/reliability/checkpoint_interval.hpp"

#include <algorithm>
#include <cmath>

#include "sim/reliability/period_time.hpp"

namespace packsim {
namespace {

// The best interval of a run without end: the root of (1 - u) exp(u + blocking / M) = 1 with u = interval /
// M, where the derivative of (exp((interval + blocking) / M) - 1) / interval is 0.
double endless_interval_s(double blocking_s, double mtbf_s) {
  double low = 0;
  double high = 1;
  for (int i = 0; i < 60; ++i) {
    const double u = (low + high) / 2;
    (std::log1p(-u) + u + blocking_s / mtbf_s > 0 ? low : high) = u;
  }
  return low * mtbf_s;
}

}  // namespace

double optimal_interval_s(double work_s, std::int64_t n_gpus, const FailureModel& model) {
  FailureModel chosen = model;
  chosen.checkpoint_interval_s.reset();
  check_failure_model(work_s, n_gpus, chosen);
  const double failures_per_s = failure_rate_per_s(n_gpus, model);
  if (failures_per_s == 0 || work_s == 0) return work_s;

  const double blocking_s = model.checkpoint_write_s * model.checkpoint_blocking_fraction;
  const double near_s = std::max({endless_interval_s(blocking_s, 1 / failures_per_s),
                                  model.checkpoint_write_s - blocking_s, work_s / 1e11});
  // Restarts multiply the time of every period alike, so they do not move the best interval.
  const auto wall_s = [&](std::int64_t n) {
    return mean_wall_s(RunClock(work_s, work_s / static_cast<double>(n), model), 0, failures_per_s);
  };
  // The time falls with the number of intervals and then rises: halve the range where it turns.
  auto low = static_cast<std::int64_t>(std::max(1.0, work_s / near_s / 2));
  auto high = static_cast<std::int64_t>(work_s / near_s * 2) + 2;
  while (low < high) {
    const std::int64_t n = low + (high - low) / 2;
    if (wall_s(n) > wall_s(n + 1)) {
      low = n + 1;
    } else {
      high = n;
    }
  }
  return work_s / static_cast<double>(low);
}

RunClock run_with_checkpoints(double work_s, std::int64_t n_gpus, const FailureModel& model) {
  check_failure_model(work_s, n_gpus, model);
  if (model.checkpoint_interval_s) return {work_s, *model.checkpoint_interval_s, model};
  return {work_s, optimal_interval_s(work_s, n_gpus, model), model};
}

}  // namespace packsim
