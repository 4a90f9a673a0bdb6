#include "validation/any_stack_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "calibration/fit/steps/framework_profile_json.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
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

bool is_left_out(const PublishedStep& step) {
  return std::ranges::any_of(plan_traits(step.model, step.plan), [](PlanTrait trait) {
    return std::ranges::find(kLeftOutTraits, trait) != kLeftOutTraits.end();
  });
}

// A step as the logarithm of simulated over published time at one factor, and how it grows with the logarithm
// of the factor.
struct StepError {
  double at_1 = 0;
  double slope = 1;
  double at(double log_factor) const { return at_1 + slope * log_factor; }
};

StepError error_of(const PublishedStep& step, const HardwareProfile& hardware) {
  constexpr double kFactor = 1.3;
  PublishedStep as_run = step;
  as_run.plan.execution = any_stack_execution(step.plan.execution);
  const auto log_error = [&](double factor) {
    FrameworkFactors factors;
    factors.linear_factor = factors.attention_factor = factor;
    return std::log(simulate_step(as_run, hardware, factors).step_s / step.step_time_s);
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
    if (is_left_out(step) || !plan_mistakes(step.model, step.cluster, step.plan).empty()) continue;
    errors[stack_of(step.source).name].push_back(error_of(step, hardware.on(step.cluster)));
    add_step(scope_, step.model, step.plan);
  }
  for (const auto& [stack, of_stack] : errors)
    factors_[stack] = std::exp(-mean_of(of_stack, &StepError::at_1) / mean_of(of_stack, &StepError::slope));
  if (factors_.size() < 2)
    throw std::invalid_argument("expected steps of two stacks or more, got " +
                                std::to_string(factors_.size()));
  double sum = 0;
  for (const auto& [stack, of_stack] : errors) {
    double squares = 0;
    for (const StepError& error : of_stack) squares += std::pow(error.at(std::log(factor_without(stack))), 2);
    sum += squares / static_cast<double>(of_stack.size());
  }
  left_out_error_ = std::sqrt(sum / static_cast<double>(errors.size()));
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
  profile.left_out_error = fit.left_out_error();
  profile.left_out_groups = static_cast<int>(fit.factors().size());
  nlohmann::ordered_json stacks = nlohmann::ordered_json::object();
  for (const auto& [stack, factor] : fit.factors()) stacks[std::string(stack)] = six_digits(factor);
  const nlohmann::ordered_json provenance = {
      {"command", "packsim validate --fit-stacks"},
      {"numbers",
       "one: the geometric mean over stacks of the factor that makes the steps of each right on average"},
      {"factor_by_stack", stacks},
      {"left_out_error", "root mean square over stacks, each predicted by the factor of the others"},
      {"assumed", "exchange factors 1, no fixed costs, no reserved memory: the rows do not tell them"}};
  return framework_profile_text(
      profile,
      "Any framework that has no profile of its own: what published steps of other stacks have in common", {},
      provenance);
}

}  // namespace packsim
