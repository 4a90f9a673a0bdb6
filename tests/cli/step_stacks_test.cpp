// Which published steps a stack's profile is fitted to, and which are left out of the fit together.

#include "validation/step_stacks.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "scenarios/loader/data_paths.hpp"
#include "tests/shipped_data.hpp"
#include "validation/fit_provenance.hpp"
#include "validation/stack_fit.hpp"
#include "validation/step_files.hpp"

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
    if (step.model.has_experts() || step.plan.offload.any() || is_fp8(step.plan.precision))
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
  PublishedStep other_model = step;
  other_model.model.name = "b";
  CHECK(folds_of({step, more_gpus, tensor, other_model}) == std::set<std::string>{"a", "b"});
}

TEST_CASE("A source without a stack is refused by its name") {
  CHECK(stack_of("dgxc_25.05").name == "NeMo");
  CHECK_THROWS_WITH(stack_of("unheard_of"), "no stack has the source unheard_of");
}
