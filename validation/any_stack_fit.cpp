#include "validation/any_stack_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>

#include "calibration/fit/steps/framework_profile_json.hpp"
#include "models/step/profile_doubts.hpp"
#include "models/step/uncertainty.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "validation/interval_score.hpp"
#include "validation/step_simulation.hpp"
#include "validation/step_stacks.hpp"

namespace packsim {
namespace {

constexpr const char* kHardware = "h100-sxm-public";

constexpr std::array kLeftOutTraits = {PlanTrait::experts,
                                       PlanTrait::lora,
                                       PlanTrait::offload,
                                       PlanTrait::hybrid_sharding,
                                       PlanTrait::operation_checkpointing,
                                       PlanTrait::module_checkpointing,
                                       PlanTrait::fp8};

bool is_modelled(const PublishedStep& step) {
  return plan_mistakes(step.model, step.cluster, step.plan).empty();
}

bool has_left_out_trait(const PublishedStep& step) {
  return std::ranges::any_of(plan_traits(step.model, step.plan), [](PlanTrait trait) {
    return std::ranges::find(kLeftOutTraits, trait) != kLeftOutTraits.end();
  });
}

// Of a profile whose time of attention alone is uncertain, by this standard deviation of its logarithm.
std::vector<double> attention_covariance(double error) {
  constexpr std::size_t kAttention = 1;  // in the order of kFrameworkNumbers
  std::vector<double> covariance(kNTimeFactors * kNTimeFactors, 0);
  covariance[kAttention * kNTimeFactors + kAttention] = error * error;
  return covariance;
}

// A step as the logarithm of simulated over published time at one factor, and how it grows with the logarithm
// of the factor.
struct StepError {
  double at_1 = 0;
  double slope = 1;
  double at(double log_factor) const { return at_1 + slope * log_factor; }
};

SimulatedStep simulate_at(PublishedStep step, const HardwareProfile& hardware, double factor) {
  step.plan.execution = any_stack_execution(step.plan.execution);
  FrameworkFactors factors;
  factors.linear_factor = factors.attention_factor = factor;
  return simulate_step(step, hardware, factors);
}

StepError error_of(const PublishedStep& step, const HardwareProfile& hardware) {
  constexpr double kFactor = 1.3;
  const auto log_error = [&](double factor) {
    return std::log(simulate_at(step, hardware, factor).step_s / step.step_time_s);
  };
  const double at_1 = log_error(1);
  return {.at_1 = at_1, .slope = (log_error(kFactor) - at_1) / std::log(kFactor)};
}

double mean_of(const std::vector<StepError>& errors, double StepError::*part) {
  double sum = 0;
  for (const StepError& error : errors) sum += error.*part;
  return sum / static_cast<double>(errors.size());
}

}  // namespace

ExecutionStyle any_stack_execution(const ExecutionStyle& of_step) {
  ExecutionStyle execution = of_step;
  execution.overlaps_states = true;
  execution.launch_s = kTorchLaunch_s;
  return execution;
}

AnyStackFit::AnyStackFit(const std::vector<PublishedStep>& steps, ClusterHardware& hardware) {
  std::map<std::string_view, std::vector<StepError>> errors;
  for (const PublishedStep& step : steps) {
    if (!is_modelled(step) || has_left_out_trait(step)) continue;
    errors[stack_of(step.source).name].push_back(error_of(step, hardware.on(step.cluster)));
    add_step(scope_, step.model, step.cluster.gpu.driver_name, step.plan);
  }
  for (const auto& [stack, of_stack] : errors)
    factors_[stack] = std::exp(-mean_of(of_stack, &StepError::at_1) / mean_of(of_stack, &StepError::slope));
  if (factors_.size() < 2)
    throw std::invalid_argument("expected steps of two stacks or more, got " +
                                std::to_string(factors_.size()));
  FrameworkProfile bare;
  bare.fitted_on = scope_;
  FrameworkProfile of_attention = bare;
  of_attention.log_covariance = attention_covariance(1);
  for (const PublishedStep& step : steps) {
    if (!is_modelled(step)) continue;
    const std::string_view stack = stack_of(step.source).name;
    const SimulatedStep simulated = simulate_at(step, hardware.on(step.cluster), factor_without(stack));
    std::array<double, kNCauses> fraction = simulated.by_cause_s;
    for (double& part : fraction) part /= simulated.step_s;
    const std::vector<ProfileDoubt> doubts = profile_doubts(bare, step.model, step.cluster, step.plan);
    const bool is_fitted = scope_.has_gpu(step.cluster.gpu.driver_name);
    steps_.push_back({.stack = stack,
                      .distance = std::abs(std::log(simulated.step_s / step.step_time_s)),
                      .attention_share = time_error(run_uncertainty(fraction, {}, of_attention, true).errors),
                      .known_relative_error = time_error(
                          run_uncertainty(fraction, simulated.account, bare, is_fitted, doubts).errors)});
  }
}

AnyStackFit::Spread AnyStackFit::spread_without(std::string_view stack) const {
  constexpr double kStackStep = 0.005;
  constexpr double kAttentionStep = 0.02;
  constexpr int kSteps = 50;
  const double few_groups = few_groups_factor(static_cast<int>(factors_.size() - factors_.count(stack)));
  const auto score = [&](const Spread& spread) {
    double sum = 0;
    for (const LeftOutStep& step : steps_) {
      if (step.stack == stack) continue;
      const double error =
          std::hypot(few_groups * spread.stack_error, spread.attention_error * step.attention_share,
                     step.known_relative_error);
      sum += interval_score(std::log(nine_of_ten_factor(error)), step.distance);
    }
    return sum;
  };
  Spread best;
  double best_score = std::numeric_limits<double>::infinity();
  for (int i = 1; i <= kSteps; ++i) {
    for (int k = 0; k <= kSteps; ++k) {
      const Spread spread = {.stack_error = kStackStep * i, .attention_error = kAttentionStep * k};
      const double found = score(spread);
      if (found >= best_score) continue;
      best = spread;
      best_score = found;
    }
  }
  return best;
}

double AnyStackFit::factor_without(std::string_view stack) const {
  double sum = 0;
  int n = 0;
  for (const auto& [name, factor] : factors_) {
    if (name == stack) continue;
    sum += std::log(factor);
    ++n;
  }
  return std::exp(sum / n);
}

void set_spread(const AnyStackFit::Spread& spread, FrameworkProfile& profile) {
  profile.left_out_error = spread.stack_error;
  profile.log_covariance = attention_covariance(spread.attention_error);
}

std::string any_stack_profile_json(const std::vector<PublishedStep>& all, const DataPaths& data) {
  const HardwareProfile measured = load_hardware_profile(kHardware, data);
  ClusterHardware hardware(measured);
  const AnyStackFit fit(all, hardware);
  FrameworkProfile profile;
  profile.name = kAnyStackProfile;
  profile.gpu = measured.gpu;
  profile.hardware = kHardware;
  profile.source = "fitted to published steps of " + std::to_string(fit.factors().size()) +
                   " stacks (validation/published_steps.json, validation/held_out_steps.json)";
  profile.fitted_on = fit.scope();
  profile.factors.linear_factor = profile.factors.attention_factor = fit.factor_without("");
  profile.execution = any_stack_execution({});
  const AnyStackFit::Spread spread = fit.spread_without("");
  set_spread(spread, profile);
  profile.left_out_groups = static_cast<int>(fit.factors().size());
  nlohmann::ordered_json stacks = nlohmann::ordered_json::object();
  for (const auto& [stack, factor] : fit.factors()) stacks[std::string(stack)] = six_digits(factor);
  const nlohmann::ordered_json provenance = {
      {"command", "packsim validate --fit-stacks"},
      {"numbers",
       "one: the geometric mean over stacks of the factor that makes the steps of each right on average"},
      {"factor_by_stack", stacks},
      {"left_out_error",
       "two numbers, this one and the error of attention: those that give all steps, each predicted by the "
       "factor of the other stacks, the best 90 % intervals (interval score)"},
      {"assumed", "exchange factors 1, no fixed costs, no reserved memory: the rows do not tell them"}};
  return framework_profile_text(
      profile,
      "Any framework that has no profile of its own: what published steps of other stacks have in common",
      {{.name = "attention_factor", .standard_error = spread.attention_error}}, provenance);
}

}  // namespace packsim
