#include "experiment/bounds/plan_bounds.hpp"

#include <map>

#include "experiment/search/plan_space.hpp"

namespace packsim {

std::optional<LowerBound> PlanBounds::least(std::span<const ParallelPlan> plans,
                                            std::span<const LengthCount> lengths) {
  if (plans.size() == 1) return at(plans.front(), lengths);
  GroupOptions options(scenario_, lengths.back().length_tokens);
  WorkFloors floors(lengths, true, pricers_);
  std::multimap<double, const ParallelPlan*> by_floor_s;
  for (const ParallelPlan& plan : plans) by_floor_s.emplace(least_s(plan, options, floors), &plan);
  const double gpu_epochs = scenario_.cluster.n_gpus() * static_cast<double>(scenario_.training.epochs);
  std::optional<LowerBound> least;
  for (const auto& [floor_s, plan] : by_floor_s) {
    if (least && floor_s * gpu_epochs * kFloorAccuracy > least->gpu_s) break;
    const std::optional<LowerBound> bound = at(*plan, lengths);
    if (bound && (!least || bound->gpu_s < least->gpu_s)) least = bound;
  }
  return least;
}

std::optional<LowerBound> PlanBounds::at(const ParallelPlan& plan, std::span<const LengthCount> lengths) {
  ParallelPlan key = plan;
  key.zero_stage = 0;
  if (!latest_ || latest_->first != key) {
    const Job job{scenario_.model, scenario_.cluster, scenario_.hardware, scenario_.profile.factors};
    latest_.reset();
    latest_.emplace(key, std::make_unique<LowerBounds>(job, plan, space_, pricers_.store()));
  }
  return latest_->second->at(plan.zero_stage, lengths);
}

}  // namespace packsim
