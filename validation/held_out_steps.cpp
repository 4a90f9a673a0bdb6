#include <map>
#include <optional>

#include "models/step/uncertainty.hpp"
#include "scenarios/loader/load_scenario.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "validation/any_stack_fit.hpp"
#include "validation/interval_score.hpp"
#include "validation/step_simulation.hpp"
#include "validation/step_stacks.hpp"
#include "validation/validation_sets.hpp"

namespace packsim {
namespace {

// These are the project's targets.
constexpr double kHeldOutMedian = 0.15;
constexpr double kHeldOutOutside = 0.15;
constexpr double kHeldOutScore = 0.75;

class HeldOutSteps {
 public:
  HeldOutSteps(const std::vector<PublishedStep>& all, const DataPaths& data) : data_(data) {
    any_profile_ = load_profile(std::string(kAnyStackProfile), data);
    any_fit_.emplace(all, hardware(any_profile_.hardware));
  }

  // Predicts a step with the first profile of its stack that is fitted to other steps, if there is one.
  ValidationRow by_own_stack(const PublishedStep& step) {
    for (const StackProfile& fitted : stack_of(step.source).profiles) {
      if (!is_fitted_to(fitted, step)) return row(step, own_profile(fitted.name));
    }
    return by_other_stacks(step);
  }

  // Predicts a step with one number that is fitted to the steps of the other stacks.
  ValidationRow by_other_stacks(const PublishedStep& step) {
    FrameworkProfile profile = any_profile_;
    const std::string_view stack = stack_of(step.source).name;
    profile.factors.linear_factor = profile.factors.attention_factor = any_fit_->factor_without(stack);
    const auto [spread, is_new] = spreads_.try_emplace(stack);
    if (is_new) spread->second = any_fit_->spread_without(stack);
    set_spread(spread->second, profile);
    return row(step, profile);
  }

 private:
  ValidationRow row(const PublishedStep& step, const FrameworkProfile& profile) {
    ValidationRow row{.name = step.id, .published = step.step_time_s, .unit = "s", .note = step.note};
    if (!plan_mistakes(step.model, step.cluster, step.plan).empty()) {
      row.predicted = row.error;  // NaN
      row.outcome = Outcome::refused;
      return row;
    }
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
    const bool is_fitted = profile.fitted_on.has_gpu(step.cluster.gpu.driver_name);
    const Uncertainty uncertainty = run_uncertainty(fraction, simulated.account, profile, is_fitted, doubts);
    row.interval = {uncertainty.low() * row.predicted, uncertainty.high() * row.predicted};
    return row;
  }

  const FrameworkProfile& own_profile(std::string_view name) {
    const auto [at, is_new] = profiles_.try_emplace(name);
    if (is_new) at->second = load_profile(std::string(name), data_);
    return at->second;
  }

  ClusterHardware& hardware(const std::string& name) {
    const auto at = hardware_.find(name);
    if (at != hardware_.end()) return at->second;
    return hardware_.emplace(name, load_hardware_profile(name, data_)).first->second;
  }

  const DataPaths& data_;
  FrameworkProfile any_profile_;
  std::optional<AnyStackFit> any_fit_;
  std::map<std::string_view, AnyStackFit::Spread> spreads_;
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
                {"share outside the 90 % interval", share_outside(set.rows), kHeldOutOutside},
                {"interval score, over that of the best constant width",
                 mean_interval_score(set.rows) / best_constant_score(set.rows), kHeldOutScore}};
}

}  // namespace

std::vector<ValidationSet> validate_held_out_steps(const DataPaths& data) {
  ValidationSet own{
      .name = "steps-held-out",
      .title = "Training steps priced by fits to other steps",
      .about =
          "Steps of a stack that has a profile which is fitted to other steps have this profile. All others "
          "have one number, fitted to the other stacks. Kernels of other GPUs are those of an H100, scaled"};
  ValidationSet left_out{.name = "steps-stack-left-out",
                         .title = "Training steps of all stacks, each stack left out",
                         .about = "Each step has one number, fitted to the steps of the other stacks"};
  const std::vector<PublishedStep> all = load_all_steps(data);
  HeldOutSteps steps(all, data);
  for (const PublishedStep& step : load_held_out_steps(data)) own.rows.push_back(steps.by_own_stack(step));
  for (const PublishedStep& step : all) left_out.rows.push_back(steps.by_other_stacks(step));
  set_bounds(own);
  set_bounds(left_out);
  return {own, left_out};
}

}  // namespace packsim
