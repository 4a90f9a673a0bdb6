#include "calibration/fit/steps/framework_fit.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "calibration/fit/dense_algebra.hpp"
#include "calibration/fit/robust_least_squares.hpp"
#include "calibration/fit/steps/measured_step.hpp"
#include "models/plan/plan_key.hpp"

namespace packsim {
namespace {

constexpr std::size_t kInNode = 2;  // of kFrameworkNumbers
constexpr std::size_t kBetween = 3;
constexpr std::size_t kMicroBatch = 4;
constexpr std::size_t kStep = 5;
constexpr std::size_t kFewestSteps = 4;
// Standard deviation of the logarithm of an exchange factor that nothing is known of.
constexpr double kAssumedSpread = 0.5;

using Steps = std::vector<const MeasuredStep*>;

// Numbers that the rows cannot tell start, and stay, at 0.
std::vector<double> start_of(const Steps& steps) {
  std::set<double> counts;
  TimeFactors most = {};
  for (const MeasuredStep* step : steps) {
    counts.insert(step->terms.part_s[kMicroBatch]);
    for (std::size_t k = 0; k < kNTimeFactors; ++k) most[k] = std::max(most[k], step->terms.part_s[k]);
  }
  std::vector<double> start(kNTimeFactors, 1);
  for (std::size_t k = 0; k < kMicroBatch; ++k) start[k] = most[k] > 0 ? 1 : 0;
  start[kMicroBatch] = counts.size() > 1 ? 1e-3 : 0;
  start[kStep] = 1e-3;
  return start;
}

// What a framework that adds nothing has in place of numbers that are not known.
TimeFactors with_assumed(const std::vector<double>& values) {
  TimeFactors factors = {};
  const TimeFactors nothing_added = time_factors({});
  for (std::size_t k = 0; k < kNTimeFactors; ++k) factors[k] = values[k] > 0 ? values[k] : nothing_added[k];
  return factors;
}

PositiveFit fit_times(const Steps& steps) {
  std::vector<double> measured_s;
  for (const MeasuredStep* step : steps) measured_s.push_back(step->row->median_s());
  const auto time_s = [&](const std::vector<double>& numbers, std::size_t i) {
    TimeFactors factors = {};
    std::ranges::copy(numbers, factors.begin());
    return steps[i]->terms.time_s(factors);
  };
  return fit_positive(time_s, measured_s, start_of(steps));
}

void set_times(const PositiveFit& times, FrameworkFit& fit) {
  const TimeFactors factors = with_assumed(times.values);
  set_time_factors(fit.profile.factors, factors);
  for (std::size_t k = 0; k < kNTimeFactors; ++k) {
    const std::string name(kFrameworkNumbers[k].name);
    const bool is_known = times.values[k] > 0;
    if (!is_known) fit.assumed.push_back(name);
    fit.numbers.push_back({name, factors[k], times.standard_errors[k]});
    for (std::size_t other = 0; other < kNTimeFactors; ++other) {
      const bool is_exchange = k == kInNode || k == kBetween;
      fit.profile.log_covariance.push_back(
          !is_known && is_exchange && other == k
              ? kAssumedSpread * kAssumedSpread
              : times.log_covariance(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(other)));
    }
  }
}

void add_errors(const FrameworkFitRow& row, double n, FrameworkFit& fit) {
  const double error = std::abs(row.predicted_s / row.measured_s - 1);
  const double left_out_error = std::abs(row.left_out_s / row.measured_s - 1);
  fit.mean_error += error / n;
  fit.max_error = std::max(fit.max_error, error);
  fit.left_out_mean_error += left_out_error / n;
  fit.left_out_max_error = std::max(fit.left_out_max_error, left_out_error);
}

void add_rows(const std::vector<MeasuredStep>& steps, FrameworkFit& fit) {
  const auto n = static_cast<double>(steps.size());
  double left_out_squares = 0;
  double memory_errors = 0;
  int n_memory = 0;
  for (const MeasuredStep& step : steps) {
    Steps others;
    for (const MeasuredStep& other : steps) {
      if (&other != &step) others.push_back(&other);
    }
    FrameworkFitRow row{.step = step.row->kernel.text(), .measured_s = step.row->median_s()};
    row.predicted_s = step.terms.time_s(time_factors(fit.profile.factors));
    row.left_out_s = step.terms.time_s(with_assumed(fit_times(others).values));
    row.measured_memory_bytes = step.row->peak_memory_bytes;
    row.predicted_memory_bytes = allocated_bytes(step);
    add_errors(row, n, fit);
    left_out_squares += std::pow(row.left_out_s / row.measured_s - 1, 2) / n;
    if (row.measured_memory_bytes) {
      memory_errors += std::abs(row.predicted_memory_bytes / *row.measured_memory_bytes - 1);
      ++n_memory;
    }
    fit.rows.push_back(std::move(row));
  }
  fit.profile.left_out_error = std::sqrt(left_out_squares);
  fit.profile.left_out_groups = static_cast<int>(steps.size());
  fit.memory_mean_error = n_memory > 0 ? memory_errors / n_memory : 0;
}

// The time that GPUs waited for their host is in the fitted numbers: launches that would make them wait once
// more are left out of the profile.
void set_launch(const std::vector<MeasuredStep>& steps, const Measurements& measurements,
                const HardwareProfile& hardware, FrameworkFit& fit) {
  constexpr double kMostWaiting = 0.01;
  double wait_s = 0;
  double measured_s = 0;
  for (const MeasuredStep& step : steps) {
    if (!measurements.source_of(*step.row).plan) continue;  // queued ahead
    wait_s += host_wait_s(step, hardware, fit.profile.factors);
    measured_s += step.row->median_s();
  }
  if (wait_s <= kMostWaiting * measured_s) return;
  fit.host_wait_fraction = wait_s / measured_s;
  fit.profile.execution.launch_s = 0;
}

// A profile says one way of executing steps. Throws std::invalid_argument with what the steps differ in.
void check_execution(const std::vector<MeasuredStep>& steps) {
  const ParallelPlan& first = steps.front().plan;
  for (const MeasuredStep& step : steps) {
    ParallelPlan plan = step.plan;
    plan.execution.launch_s = first.execution.launch_s;  // runs measure their own
    if (plan.execution == first.execution) continue;
    std::string differs;
    for (const PlanKey& key : plan_keys()) {
      if (key.profile == SaidByProfile::never || key.get(plan) == key.get(first)) continue;
      differs += (differs.empty() ? "" : ", ") + std::string(key.name()) + " " +
                 plan_value_text(key.get(plan)) + " instead of " + plan_value_text(key.get(first));
    }
    throw std::invalid_argument((step.row->place.empty() ? "" : step.row->place + ": ") +
                                "expected a step that is executed as the first one, got " + differs);
  }
}

}  // namespace

FrameworkFit fit_framework_profile(const Measurements& measurements,
                                   const std::function<Transformer(const std::string&)>& model,
                                   const Cluster& cluster, const HardwareProfile& hardware,
                                   const FrameworkFitOptions& options) {
  const std::vector<MeasuredStep> steps = measured_steps(measurements, model, cluster, hardware);
  if (steps.size() < kFewestSteps) {
    throw std::invalid_argument("expected " + std::to_string(kFewestSteps) +
                                " measured steps or more for a framework profile, got " +
                                std::to_string(steps.size()));
  }
  check_execution(steps);
  Steps all;
  for (const MeasuredStep& step : steps) all.push_back(&step);
  FrameworkFit fit;
  fit.description = options.description;
  set_times(fit_times(all), fit);
  const MeasuredStep& largest =
      *std::ranges::max_element(steps, {}, [](const MeasuredStep& step) { return step.plan.n_gpus; });
  fit.profile.execution = largest.plan.execution;
  set_launch(steps, measurements, hardware, fit);
  fit.profile.name = options.name;
  fit.profile.gpu = measurements.source_of(*largest.row).gpu;
  fit.profile.hardware = options.hardware.empty() ? hardware.name : options.hardware;
  fit.profile.source = "fitted to " + std::to_string(steps.size()) + " measured steps";
  for (const MeasuredStep& step : steps)
    add_step(fit.profile.fitted_on, model(step.row->kernel.value("model")),
             measurements.source_of(*step.row).gpu, step.plan);
  add_rows(steps, fit);
  return fit;
}

}  // namespace packsim
