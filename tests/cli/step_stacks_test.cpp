// Which published steps a stack's profile is fitted to, and which are left out of the fit together.

#include "validation/step_stacks.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <utility>

#include "scenarios/loader/data_paths.hpp"
#include "scenarios/loader/profiles/read_hardware_profile.hpp"
#include "tests/shipped_data.hpp"
#include "validation/any_stack_fit.hpp"
#include "validation/fit_provenance.hpp"
#include "validation/stack_fit.hpp"
#include "validation/step_simulation.hpp"

using namespace packsim;
using packsim_test::kData;

namespace {

const std::vector<PublishedStep>& all_steps() {
  static const std::vector<PublishedStep> all = load_all_steps(kData);
  return all;
}

std::set<std::string> folds_of(const std::vector<PublishedStep>& steps) {
  std::set<std::string> folds;
  for (const PublishedStep& step : steps) folds.insert(fold_of(step, steps));
  return folds;
}

}  // namespace

TEST_CASE(
    "Every profile of a stack has steps in two groups or more, and its file says what each group does") {
  for (const StepStack& stack : step_stacks()) {
    for (const StackProfile& profile : stack.profiles) {
      CAPTURE(profile.name);
      const std::set<std::string> folds = folds_of(steps_of(all_steps(), profile, false));
      CHECK(folds.size() >= 2);
      const FitProvenance fit = read_fit_provenance(path_of(kProfileFiles, std::string(profile.name), kData));
      std::set<std::string> told;
      for (const auto& [fold, factors] : fit.without) told.insert(fold);
      CHECK(told == folds);
    }
  }
}

TEST_CASE("No step is in the fits of two profiles, and none with experts, offloading or fp8 is in any") {
  for (const PublishedStep& step : all_steps()) {
    CAPTURE(step.id);
    int n_fits = 0;
    for (const StepStack& stack : step_stacks()) {
      n_fits += static_cast<int>(std::ranges::count_if(
          stack.profiles, [&](const StackProfile& profile) { return is_fitted_to(profile, step); }));
    }
    CHECK(n_fits <= 1);
    if (step.model.has_experts() || step.plan.offload.any() || is_narrow(step.plan.precision))
      CHECK(n_fits == 0);
  }
}

TEST_CASE("Steps are left out by model; those of one model by parallel plan, on any number of GPUs") {
  PublishedStep step;
  step.model.name = "a";
  step.plan.n_gpus = 8;
  PublishedStep more_gpus = step;
  more_gpus.plan.n_gpus = 64;
  PublishedStep tensor = step;
  tensor.plan.tp_degree = 2;
  CHECK(folds_of({step, more_gpus, tensor}).size() == 2);
  PublishedStep ulysses = step;
  ulysses.plan.sequence.ulysses = 2;
  CHECK(folds_of({step, tensor, ulysses}).size() == 3);
  PublishedStep other_model = step;
  other_model.model.name = "b";
  CHECK(folds_of({step, more_gpus, tensor, other_model}) == std::set<std::string>{"a", "b"});
}

TEST_CASE("The factor of any framework is the geometric mean of those of stacks, without the one left out") {
  // The times of one dense step of each of three stacks, as computation of 1.2, 1.5 and 1.6 times would make
  // them.
  ClusterHardware hardware(load_hardware_profile("h100-sxm-public", kData));
  std::vector<PublishedStep> steps;
  for (const auto& [source, factor] :
       {std::pair("llm_foundry", 1.2), {"dgxc_gpt3", 1.5}, {"internevo", 1.6}}) {
    const auto at = std::ranges::find(all_steps(), source, &PublishedStep::source);
    REQUIRE(at != all_steps().end());
    steps.push_back(*at);
    PublishedStep as_run = *at;
    as_run.plan.execution = any_stack_execution(at->plan.execution);
    FrameworkFactors factors;
    factors.linear_factor = factors.attention_factor = factor;
    steps.back().step_time_s = simulate_step(as_run, hardware.on(at->cluster), factors).step_s;
  }
  const AnyStackFit fit(steps, hardware);
  // Times are linear in a factor, and the fit is in logarithms between factors of 1 and 1.3.
  CHECK(fit.factors().at("NeMo") == Approx(1.5).epsilon(0.03));
  CHECK(fit.factor_without("") == Approx(std::cbrt(1.2 * 1.5 * 1.6)).epsilon(0.03));
  CHECK(fit.factor_without("LLM Foundry") == Approx(std::sqrt(1.5 * 1.6)).epsilon(0.03));
  CHECK(fit.scope().models.size() == 3);

  const auto with_experts =
      std::ranges::find_if(all_steps(), [](const PublishedStep& step) { return step.model.has_experts(); });
  steps.push_back(*with_experts);
  CHECK(AnyStackFit(steps, hardware).scope().models.size() == 3);
  CHECK_THROWS_WITH(AnyStackFit({steps.front()}, hardware), "expected steps of two stacks or more, got 1");
}

TEST_CASE("A source without a stack is refused by its name") {
  CHECK(stack_of("dgxc_25.05").name == "NeMo");
  CHECK_THROWS_WITH(stack_of("unheard_of"), "no stack has the source unheard_of");
}
