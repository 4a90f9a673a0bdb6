#include "validation/stack_fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "calibration/fit/steps/framework_profile_json.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "validation/step_simulation.hpp"
#include "validation/validation_row.hpp"

namespace packsim {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

FrameworkFactors factors_of(const VectorXd& x) {
  FrameworkFactors factors;
  factors.linear_factor = std::exp(x[0]);
  factors.attention_factor = std::exp(x[x.size() - 1]);
  return factors;
}

VectorXd log_errors(const std::vector<PublishedStep>& steps, ClusterHardware& hardware, const VectorXd& x) {
  VectorXd errors(static_cast<Eigen::Index>(steps.size()));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double step_s = simulate_step(steps[i], hardware.on(steps[i].cluster), factors_of(x)).step_s;
    errors[static_cast<Eigen::Index>(i)] = std::log(step_s / steps[i].step_time_s);
  }
  return errors;
}

double error_of(const PublishedStep& step, ClusterHardware& hardware, const FrameworkFactors& factors) {
  return relative_error(simulate_step(step, hardware.on(step.cluster), factors).step_s, step.step_time_s);
}

// One choice of how states travel, with everything that a profile says of it.
struct StackFit {
  bool overlaps_states = false;
  std::vector<PublishedStep> steps;
  StackFactors all;
};

StackFit fit_choice(const StackProfile& stack, const std::vector<PublishedStep>& all,
                    ClusterHardware& hardware, bool overlaps_states) {
  StackFit fit{.overlaps_states = overlaps_states, .steps = steps_of(all, stack, overlaps_states), .all = {}};
  fit.all = fit_stack(fit.steps, hardware, stack.has_own_attention);
  return fit;
}

// Whether the steps are over 20 times as likely under one fit as under another, by normal errors.
bool is_clearly_better(const StackFit& fit, const StackFit& other) {
  const double log_likelihood_ratio =
      static_cast<double>(fit.steps.size()) * std::log(other.all.rms / fit.all.rms);
  return log_likelihood_ratio > std::log(20.0);
}

FrameworkProfile profile_of(const StackProfile& stack, const StackFit& fit) {
  const PublishedStep& example = fit.steps.front();
  FrameworkProfile profile;
  profile.name = stack.name;
  profile.gpu = example.cluster.gpu.driver_name;
  profile.source = fmt::format("fitted to published steps (folder validation, sources {})",
                               fmt::join(stack.sources, ", "));
  profile.hardware = stack.hardware;
  for (const PublishedStep& step : fit.steps)
    add_step(profile.fitted_on, step.model, step.cluster.gpu.driver_name, step.plan);
  profile.factors = fit.all.factors();
  profile.execution = example.plan.execution;
  profile.execution.overlaps_states = fit.overlaps_states;
  const auto any_step = [&](bool ExecutionStyle::*does) {
    return std::ranges::any_of(fit.steps,
                               [&](const PublishedStep& step) { return step.plan.execution.*does; });
  };
  profile.execution.overlaps_gather = any_step(&ExecutionStyle::overlaps_gather);
  profile.execution.overlaps_tensor = any_step(&ExecutionStyle::overlaps_tensor);
  profile.log_covariance.assign(kNTimeFactors * kNTimeFactors, 0);
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t k = 0; k < 2; ++k)
      profile.log_covariance[i * kNTimeFactors + k] = fit.all.log_covariance[2 * i + k];
  }
  return profile;
}

}  // namespace

FrameworkFactors StackFactors::factors() const {
  FrameworkFactors factors;
  factors.linear_factor = linear_factor;
  factors.attention_factor = attention_factor;
  return factors;
}

std::vector<PublishedStep> steps_of(const std::vector<PublishedStep>& all, const StackProfile& profile,
                                    bool overlaps_states) {
  std::vector<PublishedStep> chosen;
  for (const PublishedStep& step : all) {
    if (!is_fitted_to(profile, step)) continue;
    chosen.push_back(step);
    chosen.back().plan.execution.overlaps_states = overlaps_states;
  }
  return chosen;
}

std::string fold_of(const PublishedStep& step, const std::vector<PublishedStep>& fitted) {
  const bool has_one_model = std::ranges::all_of(
      fitted, [&](const PublishedStep& other) { return other.model.name == fitted.front().model.name; });
  if (!has_one_model) return step.model.name;
  const ParallelPlan& plan = step.plan;
  return fmt::format("{}, TP {}, SP {}, CP {}, PP {}, shards {}, {} checkpointed", step.model.name,
                     plan.tp_degree, plan.sequence.ulysses, plan.sequence.ring, plan.pp_degree,
                     plan.shard_degree, plan.gc_layers);
}

StackFactors fit_stack(const std::vector<PublishedStep>& steps, ClusterHardware& hardware,
                       bool has_own_attention) {
  constexpr double kDifference = 1e-3;
  constexpr double kSmallStep = 1e-5;
  const Eigen::Index n_numbers = has_own_attention ? 2 : 1;
  VectorXd x = VectorXd::Zero(n_numbers);
  VectorXd errors;
  MatrixXd slopes(static_cast<Eigen::Index>(steps.size()), n_numbers);
  // Gauss-Newton: a step's time is nearly linear in its factors.
  for (int iteration = 0; iteration < 10; ++iteration) {
    errors = log_errors(steps, hardware, x);
    for (Eigen::Index k = 0; k < n_numbers; ++k) {
      VectorXd moved = x;
      moved[k] += kDifference;
      slopes.col(k) = (log_errors(steps, hardware, moved) - errors) / kDifference;
    }
    const VectorXd change = slopes.colPivHouseholderQr().solve(-errors);
    x += change;
    if (change.norm() < kSmallStep) break;
  }
  errors = log_errors(steps, hardware, x);
  const double n_free = static_cast<double>(errors.size() - n_numbers);
  const MatrixXd covariance = (slopes.transpose() * slopes).inverse() * errors.squaredNorm() / n_free;
  const FrameworkFactors factors = factors_of(x);
  const Eigen::Index last = n_numbers - 1;
  return {
      .linear_factor = factors.linear_factor,
      .attention_factor = factors.attention_factor,
      .log_covariance = {covariance(0, 0), covariance(0, last), covariance(last, 0), covariance(last, last)},
      .rms = std::sqrt(errors.squaredNorm() / static_cast<double>(errors.size()))};
}

std::string stack_profile_json(const StackProfile& stack, const std::vector<PublishedStep>& all,
                               const DataPaths& data) {
  ClusterHardware hardware(load_hardware_profile(std::string(stack.hardware), data));
  const StackFit beside = fit_choice(stack, all, hardware, true);
  const StackFit after = fit_choice(stack, all, hardware, false);
  const StackFit& fit = is_clearly_better(after, beside) ? after : beside;

  std::map<std::string, std::vector<PublishedStep>> folds;
  for (const PublishedStep& step : fit.steps) folds[fold_of(step, fit.steps)].push_back(step);
  nlohmann::ordered_json left_out = nlohmann::ordered_json::array();
  double squares = 0;
  for (const auto& [fold, of_fold] : folds) {
    std::vector<PublishedStep> others;
    for (const PublishedStep& step : fit.steps) {
      if (fold_of(step, fit.steps) != fold) others.push_back(step);
    }
    const StackFactors without = fit_stack(others, hardware, stack.has_own_attention);
    for (const PublishedStep& step : of_fold)
      squares += std::pow(error_of(step, hardware, without.factors()), 2);
    left_out.push_back({{"steps", fold},
                        {"linear_factor", six_digits(without.linear_factor)},
                        {"attention_factor", six_digits(without.attention_factor)}});
  }
  FrameworkProfile profile = profile_of(stack, fit);
  profile.left_out_error = std::sqrt(squares / static_cast<double>(fit.steps.size()));
  profile.left_out_groups = static_cast<int>(folds.size());
  const std::vector<FittedNumber> numbers = {
      {"linear_factor", fit.all.linear_factor, fit.all.linear_factor * std::sqrt(fit.all.log_covariance[0])},
      {"attention_factor", fit.all.attention_factor,
       fit.all.attention_factor * std::sqrt(fit.all.log_covariance[3])}};
  const nlohmann::ordered_json provenance = {
      {"command", "packsim validate --fit-stacks"},
      {"rows", "published steps of the folder validation; none was measured by this project"},
      {"n_rows", fit.steps.size()},
      {"numbers", stack.has_own_attention ? "two" : "one for matrix products and attention alike"},
      {"assumed", "exchange factors 1, no fixed costs, no reserved memory: the rows do not tell them"},
      {"overlaps_states_rms", {{"true", six_digits(beside.all.rms)}, {"false", six_digits(after.all.rms)}}},
      {"left_out", left_out}};
  return framework_profile_text(profile, std::string(stack.description), numbers, provenance);
}

}  // namespace packsim
