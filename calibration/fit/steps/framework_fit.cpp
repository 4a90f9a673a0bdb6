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

// The time factors, and the seconds of a launch.
constexpr std::size_t kLaunch = kNTimeFactors;
constexpr std::size_t kNNumbers = kNTimeFactors + 1;
constexpr double kFixedStart_s = 1e-3;
constexpr double kUsualStep_s = 1e-2;

// What is known of the numbers without the rows, as rows in which GPUs always wait, or never, tell one side
// alone. Standard deviations of logarithms: the kernels of a known style take about what was measured of
// them, steps have a few hundredths of a second at most beside launches, and the plan has a launch as the run
// timed it.
const std::vector<double> kKnown = {0.3, 0.5, 0, 0, 0, 1.5, 0.5};

TimeFactors factors_of(const std::vector<double>& numbers) {
  TimeFactors factors = {};
  std::copy_n(numbers.begin(), kNTimeFactors, factors.begin());
  return factors;
}

// Numbers that the rows cannot tell start, and stay, at 0. waits: GPUs may wait for launches. A fixed cost of
// micro-batches would be hard to tell from these, which are mostly equal in all of them.
std::vector<double> start_of(const Steps& steps, bool waits) {
  std::set<double> counts;
  TimeFactors most = {};
  for (const MeasuredStep* step : steps) {
    counts.insert(step->terms.part_s[kMicroBatch]);
    for (std::size_t k = 0; k < kNTimeFactors; ++k) most[k] = std::max(most[k], step->terms.part_s[k]);
  }
  std::vector<double> start(kNNumbers, 1);
  for (std::size_t k = 0; k < kMicroBatch; ++k) start[k] = most[k] > 0 ? 1 : 0;
  start[kMicroBatch] = counts.size() > 1 && !waits ? kFixedStart_s : 0;
  start[kStep] = waits ? kUsualStep_s : kFixedStart_s;
  start[kLaunch] = waits ? steps.front()->plan.execution.launch_s : 0;
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
    return steps[i]->time_s(factors_of(numbers), numbers[kLaunch]);
  };
  const bool may_wait =
      std::ranges::any_of(steps, [](const MeasuredStep* step) { return step->launches.has_value(); });
  if (may_wait) {
    PositiveFit times = fit_positive(time_s, measured_s, start_of(steps, true), {}, kKnown);
    if (times.values[kLaunch] > 0) return times;
  }
  return fit_positive(time_s, measured_s, start_of(steps, false));
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

// The seconds of a launch that the rows tell. Else the profile has those of the plan, or none where GPUs
// would wait for them beside the fitted numbers, which have all that the rows waited.
void set_launch(const PositiveFit& times, const Steps& steps, FrameworkFit& fit) {
  constexpr double kMostWaiting = 0.01;
  double& launch_s = fit.profile.execution.launch_s;
  if (times.values[kLaunch] > 0) {
    launch_s = times.values[kLaunch];
    fit.launch = {"launch_s", launch_s, times.standard_errors[kLaunch]};
    return;
  }
  const TimeFactors factors = time_factors(fit.profile.factors);
  double waiting = 0;  // the share of the mean row
  for (const MeasuredStep* step : steps) {
    const double waits_s = step->time_s(factors, launch_s) - step->terms.time_s(factors);
    waiting += waits_s / step->row->median_s() / static_cast<double>(steps.size());
  }
  if (waiting > kMostWaiting) launch_s = 0;
}

void add_errors(const FrameworkFitRow& row, double n, FrameworkFit& fit) {
  const double error = std::abs(row.predicted_s / row.measured_s - 1);
  const double left_out_error = std::abs(row.left_out_s / row.measured_s - 1);
  fit.mean_error += error / n;
  fit.max_error = std::max(fit.max_error, error);
  fit.left_out_mean_error += left_out_error / n;
  fit.left_out_max_error = std::max(fit.left_out_max_error, left_out_error);
}

// Fits without a row each, or without every so many of them where there are many rows.
std::vector<double> left_out_s(const Steps& steps, int n_groups) {
  std::vector<double> times_s(steps.size());
  const auto n = static_cast<std::size_t>(n_groups);
  for (std::size_t group = 0; group < n; ++group) {
    Steps others;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (i % n != group) others.push_back(steps[i]);
    }
    const std::vector<double> numbers = fit_times(others).values;
    for (std::size_t i = group; i < steps.size(); i += n)
      times_s[i] = steps[i]->time_s(with_assumed(numbers), numbers[kLaunch]);
  }
  return times_s;
}

void add_rows(const Steps& steps, FrameworkFit& fit) {
  constexpr int kMostAlone = 40;
  constexpr int kGroups = 10;
  const auto n = static_cast<double>(steps.size());
  const int n_groups = steps.size() <= kMostAlone ? static_cast<int>(steps.size()) : kGroups;
  const std::vector<double> without_s = left_out_s(steps, n_groups);
  double left_out_squares = 0;
  double memory_errors = 0;
  int n_memory = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const MeasuredStep& step = *steps[i];
    FrameworkFitRow row{.step = step.row->kernel.text(), .measured_s = step.row->median_s()};
    row.predicted_s = step.time_s(time_factors(fit.profile.factors), fit.profile.execution.launch_s);
    row.left_out_s = without_s[i];
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
  fit.profile.left_out_groups = n_groups;
  fit.memory_mean_error = n_memory > 0 ? memory_errors / n_memory : 0;
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

// Whether the steps of a source have FlashAttention-2, as calibration/steps says of what it times.
bool is_flash_attention_2(const MeasurementSource& source) {
  constexpr std::array<std::string_view, 3> kNames = {"flash_attn_2", "torch_varlen",
                                                      "torch_varlen_repeated_kv"};
  const auto attention = source.details.find("attention");
  return attention != source.details.end() && std::ranges::find(kNames, attention->second) != kNames.end();
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
  const PositiveFit times = fit_times(all);
  set_times(times, fit);
  const MeasuredStep& largest =
      *std::ranges::max_element(steps, {}, [](const MeasuredStep& step) { return step.plan.n_gpus; });
  fit.profile.execution = largest.plan.execution;
  set_launch(times, all, fit);
  fit.profile.name = options.name;
  fit.profile.gpu = measurements.source_of(*largest.row).gpu;
  fit.profile.hardware = options.hardware.empty() ? hardware.name : options.hardware;
  fit.profile.has_flash_attention_2 = is_flash_attention_2(measurements.source_of(*largest.row));
  fit.profile.source = "fitted to " + std::to_string(steps.size()) + " measured steps";
  for (const MeasuredStep& step : steps)
    add_step(fit.profile.fitted_on, model(step.row->kernel.value("model")),
             measurements.source_of(*step.row).gpu, step.plan);
  add_rows(all, fit);
  return fit;
}

}  // namespace packsim
