#include "models/framework_profile.hpp"

#include <algorithm>

namespace packsim {

void add_step(FitScope& scope, const Transformer& model, const std::string& gpu, const ParallelPlan& plan) {
  const auto add = [](std::vector<std::string>& names, const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  add(scope.models, model.name);
  add(scope.gpus, gpu);
  scope.least_gpus = scope.most_gpus == 0 ? plan.n_gpus : std::min(scope.least_gpus, plan.n_gpus);
  scope.most_gpus = std::max(scope.most_gpus, plan.n_gpus);
  for (const PlanTrait trait : plan_traits(model, plan)) {
    const auto at = std::ranges::lower_bound(scope.traits, trait);
    if (at == scope.traits.end() || *at != trait) scope.traits.insert(at, trait);
  }
}

}  // namespace packsim
