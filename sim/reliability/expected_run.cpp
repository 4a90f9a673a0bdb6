#include "sim/reliability/expected_run.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/reliability/checkpoint_interval.hpp"
#include "sim/reliability/wall_quantiles.hpp"

namespace packsim {
namespace {

// Without spare units a run waits until the unit that failed is repaired, and another failure starts the wait
// again. So the repair is part of the restart.
double restart_with_repair_s(const FailureModel& model) {
  if (!model.spares) return model.restart_s();
  if (model.spares->n_units > 0) {
    throw std::invalid_argument(
        "spares.n_units: expected 0, or no spares for an unlimited number, in closed forms, got " +
        std::to_string(model.spares->n_units) + ": simulate the run");
  }
  return model.restart_s() + model.spares->repair_s;
}

void add_spread(const RunClock& clock, double restart_s, double failures_per_s, ReliabilityResult& result) {
  std::vector<EqualTimes> times;
  double variance_s2 = 0;
  for (const EqualPeriods& equal : clock.periods()) {
    if (equal.n == 0) continue;
    times.push_back({{equal.period, restart_s, failures_per_s}, equal.n});
    variance_s2 += equal.n * times.back().time.variance_s2();
  }
  result.sd_wall_s = std::sqrt(variance_s2);
  if (!std::isfinite(variance_s2)) {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    result.sd_wall_s = kNever;
    result.quantiles = {kNever, kNever, kNever};
  } else if (variance_s2 > 0) {
    result.quantiles = wall_quantiles(times, result.expected_wall_s - clock.end_s(), result.sd_wall_s);
  } else {
    result.quantiles = {clock.end_s(), clock.end_s(), clock.end_s()};
  }
}

}  // namespace

ReliabilityResult expected_run(double work_s, std::int64_t n_gpus, const FailureModel& model) {
  const RunClock clock = run_with_checkpoints(work_s, n_gpus, model);
  const double restart_s = restart_with_repair_s(model);
  const double failures_per_s = failure_rate_per_s(n_gpus, model);

  ReliabilityResult result = failure_free(clock);
  result.expected_wall_s = mean_wall_s(clock, restart_s, failures_per_s);
  // Failures come at their rate for as long as the run lasts, and each begins a restart, of restart_s or
  // until the next failure: on average (1 - exp(-restart / M)) M.
  result.n_failures = failures_per_s * result.expected_wall_s;
  result.restart_s = -std::expm1(-failures_per_s * restart_s) * result.expected_wall_s;
  result.lost_s = result.expected_wall_s - clock.end_s() - result.restart_s;
  if (std::isinf(result.expected_wall_s)) {
    result.n_failures = result.restart_s = result.lost_s = result.expected_wall_s;
  }
  result.gpu_days = gpu_days(result.expected_wall_s, n_gpus, model);
  add_spread(clock, restart_s, failures_per_s, result);
  return result;
}

}  // namespace packsim
