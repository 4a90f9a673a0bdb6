#include <fmt/format.h>

#include <stdexcept>

#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "validation/cluster_hardware.hpp"
#include "validation/fit_provenance.hpp"
#include "validation/stack_fit.hpp"
#include "validation/step_simulation.hpp"
#include "validation/step_stacks.hpp"
#include "validation/validation_sets.hpp"

namespace packsim {
namespace {

// These are the project's targets for published training steps.
constexpr double kMedian = 0.08;
constexpr double kNinetieth = 0.20;

ValidationRow step_row(const PublishedStep& step, const HardwareProfile& hardware,
                       const FrameworkFactors& factors) {
  ValidationRow row =
      compared_row(step.id, step.step_time_s, simulate_step(step, hardware, factors).step_s, "s");
  row.note = step.note;
  return row;
}

const FrameworkFactors& factors_without(const FitProvenance& fit, const std::string& fold,
                                        const std::string& profile) {
  const auto at = fit.without.find(fold);
  if (at != fit.without.end()) return at->second;
  throw std::invalid_argument(
      fmt::format("profile {}: /provenance/left_out: expected a fit without {}, got none; run packsim "
                  "validate --fit-stacks",
                  profile, fold));
}

void add_bounds(ValidationSet& set) {
  set.bounds = {{"median error", error_quantile(set.rows, 0.5), kMedian},
                {"90th percentile of errors", error_quantile(set.rows, 0.9), kNinetieth}};
}

}  // namespace

std::vector<ValidationSet> validate_published_steps(const DataPaths& data) {
  ValidationSet kernels{.name = "steps-kernels",
                        .title = "Training steps from kernels alone",
                        .about =
                            "Nothing is fitted: all factors are 1. These rows have no target, as a "
                            "framework's own costs are missing"};
  ValidationSet left_out{.name = "steps",
                         .title = "Training steps, each model left out of the fit of its stack",
                         .about =
                             "Each step is predicted with two numbers for LLM Foundry and one for each other "
                             "stack, fitted to the steps of the other models. Where a stack has one model, "
                             "they are fitted to the other parallel plans"};
  const std::vector<PublishedStep> all = load_all_steps(data);
  for (const StepStack& stack : step_stacks()) {
    for (const StackProfile& fitted : stack.profiles) {
      const std::string name(fitted.name);
      const FrameworkProfile profile = load_profile(name, data);
      ClusterHardware hardware(load_hardware_profile(profile.hardware, data));
      const FitProvenance fit = read_fit_provenance(path_of(kProfileFiles, name, data));
      const std::vector<PublishedStep> steps = steps_of(all, fitted, profile.execution.overlaps_states);
      for (const PublishedStep& step : steps) {
        PublishedStep unfitted = step;
        unfitted.plan.execution.overlaps_states = false;
        kernels.rows.push_back(step_row(unfitted, hardware.on(step.cluster), {}));
        left_out.rows.push_back(
            step_row(step, hardware.on(step.cluster), factors_without(fit, fold_of(step, steps), name)));
      }
    }
  }
  add_bounds(left_out);
  return {kernels, left_out};
}

}  // namespace packsim
