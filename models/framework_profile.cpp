#include "models/framework_profile.hpp"

#include <algorithm>

namespace packsim {

void add_step(FitScope& scope, const Transformer& model, const ParallelPlan& plan) {
  if (std::ranges::find(scope.models, model.name) == scope.models.end()) scope.models.push_back(model.name);
  scope.least_gpus = scope.most_gpus == 0 ? plan.n_gpus : std::min(scope.least_gpus, plan.n_gpus);
  scope.most_gpus = std::max(scope.most_gpus, plan.n_gpus);
  for (const PlanTrait trait : plan_traits(model, plan)) {
    const auto at = std::ranges::lower_bound(scope.traits, trait);
    if (at == scope.traits.end() || *at != trait) scope.traits.insert(at, trait);
  }
}

}  // namespace packsim
