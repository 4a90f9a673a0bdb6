#include "experiment/bounds/plan_bounds.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "experiment/search/bases_by_floor.hpp"
#include "experiment/search/plan_space.hpp"
#include "scenarios/search_space/search_dimensions.hpp"

namespace packsim {
namespace {

// Plans that differ in what is in host memory.
struct AlikePlans {
  ParallelPlan plan;  // with what all of them have there
  Offload most_offload;
};

std::vector<AlikePlans> alike_plans(std::span<const ParallelPlan> plans) {
  const auto without_offload = [](ParallelPlan plan) {
    plan.offload = {};
    return plan;
  };
  std::vector<AlikePlans> all;
  for (const ParallelPlan& plan : plans) {
    const ParallelPlan key = without_offload(plan);
    const auto known =
        std::ranges::find_if(all, [&](const AlikePlans& one) { return without_offload(one.plan) == key; });
    if (known == all.end()) {
      all.push_back({plan, plan.offload});
      continue;
    }
    known->plan.offload = known->plan.offload & plan.offload;
    known->most_offload = known->most_offload | plan.offload;
  }
  return all;
}

// The plan that computes no more than this one if neither recomputes anything. With layers of two kinds,
// other chunks may give the busiest stage more of the cheaper ones.
ParallelPlan least_work_plan(const Transformer& model, ParallelPlan plan) {
  if (model.experts.n_dense_layers == 0) plan.virtual_stages = 1;
  return with_whole_layers(std::move(plan));
}

}  // namespace

std::optional<LowerBound> PlanBounds::least(std::span<const ParallelPlan> plans,
                                            std::span<const LengthCount> lengths) {
  if (plans.size() == 1) return at(plans.front(), lengths);
  constexpr std::int64_t kAnyLength = std::numeric_limits<std::int64_t>::max();
  const std::int64_t longest_tokens = lengths.back().length_tokens;
  GroupOptions options(scenario_, longest_tokens, longest_tokens, kAnyLength);
  WorkFloors floors(lengths, true, pricers_);
  const std::vector<AlikePlans> all = alike_plans(plans);
  std::vector<ParallelPlan> bases;
  for (const AlikePlans& alike : all) bases.push_back(alike.plan);
  const double gpu_epochs = scenario_.cluster.n_gpus() * static_cast<double>(scenario_.training.epochs);
  std::optional<LowerBound> least;
  double least_gpu_s = std::numeric_limits<double>::infinity();
  // Plans that are above the least bound even if they recompute nothing.
  std::vector<AlikePlans> above;
  for (BasesByFloor left(bases, options, floors); !left.empty();) {
    if (left.least_floor_s() * gpu_epochs * kFloorAccuracy >= least_gpu_s) break;
    const AlikePlans& alike = all[left.take()];
    const bool is_above = std::ranges::any_of(above, [&](const AlikePlans& one) {
      return one.plan == least_work_plan(scenario_.model, alike.plan) &&
             (one.most_offload | alike.most_offload) == one.most_offload;
    });
    if (is_above) continue;
    LowerBounds& bounds = bounds_of(alike.plan, alike.most_offload);
    const int zero_stage = alike.plan.zero_stage;
    const std::optional<LowerBound> bound = bounds.at(zero_stage, lengths, least_gpu_s);
    if (bound && bound->gpu_s < least_gpu_s) {
      least = bound;
      least_gpu_s = bound->gpu_s;
    }
    const bool is_least_work = alike.plan == least_work_plan(scenario_.model, alike.plan);
    if (is_least_work && bounds.gpu_s_without_recomputation(zero_stage, lengths) >= least_gpu_s)
      above.push_back(alike);
  }
  return least;
}

std::optional<LowerBound> PlanBounds::at(const ParallelPlan& plan, std::span<const LengthCount> lengths) {
  return bounds_of(plan, plan.offload).at(plan.zero_stage, lengths);
}

LowerBounds& PlanBounds::bounds_of(const ParallelPlan& plan, const Offload& most_offload) {
  ParallelPlan key = plan;
  key.zero_stage = 0;
  if (!latest_.empty() && plainest(latest_.front().plan) != plainest(key)) latest_.clear();
  const auto known = std::ranges::find_if(
      latest_, [&](const BoundsOfPlan& one) { return one.plan == key && one.most_offload == most_offload; });
  if (known != latest_.end()) return known->bounds;
  const Job job{scenario_.model, scenario_.cluster, scenario_.hardware, scenario_.profile.factors};
  return latest_
      .emplace_back(key, most_offload, LowerBounds(job, plan, space_, pricers_.store(), most_offload))
      .bounds;
}

}  // namespace packsim
