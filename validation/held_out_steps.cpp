#include <map>
#include <optional>

#include "scenarios/loader/load_scenario.hpp"
#include "validation/any_stack_fit.hpp"
#include "validation/interval_score.hpp"
#include "validation/predicted_rows.hpp"
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
  HeldOutSteps(const std::vector<PublishedStep>& all, const DataPaths& data) : data_(data), predicted_(data) {
    any_profile_ = load_profile(std::string(kAnyStackProfile), data);
    any_fit_.emplace(all, predicted_.hardware(any_profile_.hardware));
  }

  // Predicts a step with the first profile of its stack that is fitted to other steps, else with the one that
  // users of the stack are told to take, if there is one.
  ValidationRow by_own_stack(const PublishedStep& step) {
    const StepStack& stack = stack_of(step.source);
    for (const StackProfile& fitted : stack.profiles) {
      if (!is_fitted_to(fitted, step)) return predicted_.row(step, own_profile(fitted.name));
    }
    if (!stack.priced_by.empty()) return predicted_.row(step, own_profile(stack.priced_by));
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
    return predicted_.row(step, profile);
  }

 private:
  const FrameworkProfile& own_profile(std::string_view name) {
    const auto [at, is_new] = profiles_.try_emplace(name);
    if (is_new) at->second = load_profile(std::string(name), data_);
    return at->second;
  }

  const DataPaths& data_;
  FrameworkProfile any_profile_;
  std::optional<AnyStackFit> any_fit_;
  std::map<std::string_view, AnyStackFit::Spread> spreads_;
  std::map<std::string_view, FrameworkProfile> profiles_;
  PredictedRows predicted_;
};

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
