#include "experiment/costs/run_failures.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "sim/reliability/expected_run.hpp"
#include "sim/reliability/simulate_runs.hpp"

namespace packsim {
namespace {

// Simulates a run with a pool of spare units so many times that the mean is known to a hundredth of the
// spread; fewer times if runs fail often, as they then differ less.
ReliabilityResult simulated_run(double work_s, std::int64_t n_gpus, const FailureModel& model,
                                std::uint64_t seed) {
  constexpr std::int64_t kMostRuns = 10'000;
  constexpr std::int64_t kFewestRuns = 100;
  constexpr double kFailuresInAll = 1e6;
  FailureModel unlimited = model;
  unlimited.spares.reset();
  ReliabilityResult bound = expected_run(work_s, n_gpus, unlimited);
  if (std::isinf(bound.expected_wall_s)) return bound;
  const auto n_runs = static_cast<std::int64_t>(kFailuresInAll / std::max(1.0, bound.n_failures));
  try {
    return simulate_runs(work_s, n_gpus, model, std::clamp(n_runs, kFewestRuns, kMostRuns), seed);
  } catch (const std::invalid_argument&) {
    // The closed form has accepted the model, so the runs fail more often than can be simulated: more units
    // fail while they wait for repairs.
    constexpr double kNever = std::numeric_limits<double>::infinity();
    bound.expected_wall_s = bound.gpu_days = bound.n_failures = kNever;
    bound.restart_s = bound.lost_s = kNever;
    bound.quantiles = {kNever, kNever, kNever};
    return bound;
  }
}

}  // namespace

std::optional<FailureCost> failure_cost(const Scenario& scenario, double work_s) {
  if (!scenario.failures) return std::nullopt;
  const FailureModel& model = *scenario.failures;
  const std::int64_t n_gpus = scenario.cluster.n_gpus();
  const bool has_pool = model.spares && model.spares->n_units > 0;
  const ReliabilityResult run =
      has_pool ? simulated_run(work_s, n_gpus, model, scenario.seed) : expected_run(work_s, n_gpus, model);
  FailureCost cost{.gpu_days = run.gpu_days,
                   .gpu_days_p05 = gpu_days(run.quantiles.p05_s, n_gpus, model),
                   .gpu_days_p50 = gpu_days(run.quantiles.p50_s, n_gpus, model),
                   .gpu_days_p95 = gpu_days(run.quantiles.p95_s, n_gpus, model),
                   .wall_hours = run.expected_wall_s / 3600,
                   .n_failures = run.n_failures,
                   .checkpoint_interval_s = run.checkpoint_interval_s,
                   .effective_fraction = run.effective_fraction(),
                   .losses = {}};
  if (std::isfinite(run.expected_wall_s)) {
    cost.losses = {.checkpoint_fraction = run.checkpoint_s / run.expected_wall_s,
                   .restart_fraction = run.restart_s / run.expected_wall_s,
                   .lost_fraction = run.lost_s / run.expected_wall_s};
  }
  return cost;
}

}  // namespace packsim
