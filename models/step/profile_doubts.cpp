#include "models/step/profile_doubts.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace packsim {
namespace {

// The error of steps of LLM Foundry on A100s, priced with the factors of its steps on H100s.
constexpr double kOtherGpuError = 0.08;
// Error for each factor of e in the number of GPUs: from 128 to 512 GPUs, steps of LLM Foundry that should
// take equally long get 3 to 11 % longer.
constexpr double kMoreGpusError = 0.05;

}  // namespace

std::vector<ProfileDoubt> profile_doubts(const FrameworkProfile& profile, const Transformer& model,
                                         const Cluster& cluster, std::span<const ParallelPlan> plans,
                                         std::span<const double> parts) {
  std::vector<ProfileDoubt> doubts;
  const auto doubt = [&](const std::string& no_step, double relative_error) {
    doubts.push_back({"no step of profile " + profile.name + " " + no_step, relative_error});
  };
  const FitScope& scope = profile.fitted_on;
  if (!scope.has_gpu(cluster.gpu.driver_name)) doubt("ran on " + cluster.gpu.driver_name, kOtherGpuError);
  std::map<PlanTrait, double> part_of_trait;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    FitScope of_plan;
    add_step(of_plan, model, cluster.gpu.driver_name, plans[i]);
    for (const PlanTrait trait : of_plan.traits) part_of_trait[trait] += parts[i];
  }
  for (const auto& [trait, part] : part_of_trait) {
    if (std::ranges::find(scope.traits, trait) != scope.traits.end()) continue;
    const PlanTraitKind& kind = plan_trait_kind(trait);
    doubt("had " + std::string(kind.text), part * kind.error);
  }
  const double n_gpus = cluster.n_gpus();
  if (scope.most_gpus > 0 && n_gpus > scope.most_gpus) {
    doubt("ran on over " + std::to_string(scope.most_gpus) + " GPUs",
          kMoreGpusError * std::log(n_gpus / scope.most_gpus));
  }
  if (n_gpus < scope.least_gpus) {
    doubt("ran on fewer than " + std::to_string(scope.least_gpus) + " GPUs",
          kMoreGpusError * std::log(scope.least_gpus / n_gpus));
  }
  return doubts;
}

std::vector<ProfileDoubt> profile_doubts(const FrameworkProfile& profile, const Transformer& model,
                                         const Cluster& cluster, const ParallelPlan& plan) {
  constexpr double kWhole = 1;
  return profile_doubts(profile, model, cluster, {&plan, 1}, {&kWhole, 1});
}

}  // namespace packsim
