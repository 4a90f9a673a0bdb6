#include <algorithm>
#include <map>
#include <optional>

#include "models/step/uncertainty.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "validation/step_simulation.hpp"
#include "validation/step_stacks.hpp"
#include "validation/validation_sets.hpp"

namespace packsim {
namespace {

// Of the project's targets.
constexpr double kHeldOutMedian = 0.15;
constexpr double kHeldOutOutside = 0.15;

class HeldOutSteps {
 public:
  // has_own_profiles: whether stacks that have a profile use it, else that of any framework.
  HeldOutSteps(const PublishedSteps& fitted, const PublishedSteps& held_out, bool has_own_profiles,
               const DataPaths& data)
      : data_(data), has_own_profiles_(has_own_profiles) {
    std::vector<const PublishedStep*> steps;
    for (const PublishedSteps* file : {&fitted, &held_out}) {
      for (const PublishedStep& step : file->steps) steps.push_back(&step);
    }
    any_profile_ = load_profile(std::string(kAnyStackProfile), data);
    any_fit_.emplace(steps, hardware(any_profile_.hardware));
  }

  ValidationRow row(const PublishedStep& step) {
    ValidationRow row{.name = step.id, .published = step.step_time_s, .unit = "s", .note = step.note};
    if (!plan_mistakes(step.model, step.cluster, step.plan).empty()) {
      row.predicted = row.error;  // NaN
      row.outcome = Outcome::refused;
      return row;
    }
    const FrameworkProfile& profile = profile_of(stack_of(step.source));
    PublishedStep as_run = step;
    as_run.plan.execution.overlaps_states = profile.execution.overlaps_states;
    const SimulatedStep simulated =
        simulate_step(as_run, hardware(profile.hardware).on(step.cluster), profile.factors);
    row.predicted = simulated.step_s;
    row.error = relative_error(row.predicted, row.published);
    std::array<double, kNCauses> fraction = simulated.by_cause_s;
    for (double& part : fraction) part /= simulated.step_s;
    const std::vector<ProfileDoubt> doubts =
        profile_doubts(profile, step.model, step.cluster, std::span(&as_run.plan, 1));
    const bool is_fitted = profile.gpu == step.cluster.gpu.driver_name;
    const Uncertainty uncertainty = run_uncertainty(fraction, simulated.account, profile, is_fitted, doubts);
    row.interval = {uncertainty.low() * row.predicted, uncertainty.high() * row.predicted};
    return row;
  }

 private:
  const FrameworkProfile& profile_of(const StepStack& stack) {
    const auto [at, is_new] = profiles_.try_emplace(stack.name);
    if (!is_new) return at->second;
    if (stack.profile.empty() || !has_own_profiles_) {
      at->second = any_profile_;
      FrameworkFactors& factors = at->second.factors;
      factors.linear_factor = factors.attention_factor = any_fit_->factor_without(stack.name);
    } else {
      at->second = load_profile(std::string(stack.profile), data_);
    }
    return at->second;
  }

  ClusterHardware& hardware(const std::string& name) {
    const auto at = hardware_.find(name);
    if (at != hardware_.end()) return at->second;
    return hardware_.emplace(name, load_hardware_profile(name, data_)).first->second;
  }

  const DataPaths& data_;
  bool has_own_profiles_;
  FrameworkProfile any_profile_;
  std::optional<AnyStackFit> any_fit_;
  std::map<std::string_view, FrameworkProfile> profiles_;
  std::map<std::string, ClusterHardware> hardware_;
};

double share_outside(const std::vector<ValidationRow>& rows) {
  double n_rows = 0;
  double n_outside = 0;
  for (const ValidationRow& row : rows) {
    if (!row.interval) continue;
    ++n_rows;
    if (!row.interval->holds(row.published)) ++n_outside;
  }
  return n_rows > 0 ? n_outside / n_rows : 0;
}

void set_bounds(ValidationSet& set) {
  set.bounds = {{"median error", error_quantile(set.rows, 0.5), kHeldOutMedian},
                {"share outside the 90 % interval", share_outside(set.rows), kHeldOutOutside}};
}

}  // namespace

std::vector<ValidationSet> validate_held_out_steps(const PublishedSteps& fitted,
                                                   const PublishedSteps& held_out, const DataPaths& data) {
  ValidationSet own{
      .name = "steps-held-out",
      .title = "Training steps that went into the fit of no stack",
      .about =
          "Steps of LLM Foundry and NeMo have the profiles of these stacks, which are fitted to "
          "other steps on H100s. All others have one number, fitted to the other stacks. Kernels of "
          "other GPUs are those of an H100, scaled"};
  ValidationSet left_out{.name = "steps-stack-left-out",
                         .title = "Training steps of all stacks, each stack left out",
                         .about = "Each step has one number, fitted to the steps of the other stacks"};
  HeldOutSteps with_own(fitted, held_out, true, data);
  for (const PublishedStep& step : held_out.steps) own.rows.push_back(with_own.row(step));
  HeldOutSteps without(fitted, held_out, false, data);
  for (const PublishedSteps* file : {&fitted, &held_out}) {
    for (const PublishedStep& step : file->steps) left_out.rows.push_back(without.row(step));
  }
  set_bounds(own);
  set_bounds(left_out);
  return {own, left_out};
}

}  // namespace packsim
