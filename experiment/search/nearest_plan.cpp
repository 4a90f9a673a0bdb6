#include "experiment/search/nearest_plan.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "experiment/plans/plan_strategy.hpp"
#include "experiment/search/base_plans.hpp"
#include "scenarios/search_space/search_dimensions.hpp"

namespace packsim {
namespace {

// Of the memory that it is shortest of.
double needed_fraction(const PlannedStrategy& plan) {
  double fraction = 0;
  for (const PlannedGroup& group : plan.groups)
    fraction = std::max(fraction, scarcest_memory(group).fraction());
  return fraction;
}

}  // namespace

bool fits(const PlannedStrategy& plan) {
  return std::ranges::all_of(plan.groups, &PlannedGroup::fits_with_margin);
}

NearestPlan nearest_plan(const Scenario& scenario, StrategySpec spec,
                         std::span<const std::int32_t> lengths_tokens) {
  const std::vector<ParallelPlan> bases = some_base_plans(scenario, spec);
  const std::int32_t longest = lengths_tokens.empty() ? 1 : *std::ranges::max_element(lengths_tokens);
  std::optional<double> least_fraction;
  NearestPlan nearest{.spec = spec};
  for (const ParallelPlan& base : bases) {
    // Layers that are recomputed whole, in one chunk, need least memory.
    ParallelPlan least = with_whole_layers(base);
    least.virtual_stages = 1;
    if (least != base && std::ranges::find(bases, least) != bases.end()) continue;
    spec.plan = base;
    const PlannedStrategy plan = plan_what_does_not_fit(scenario, spec, {&longest, 1});
    nearest.may_fit = nearest.may_fit || std::ranges::all_of(plan.groups, &PlannedGroup::feasible);
    if (fits(plan) || (least_fraction && *least_fraction <= needed_fraction(plan))) continue;
    least_fraction = needed_fraction(plan);
    nearest.spec.plan = base;
  }
  if (!least_fraction && scenario.trainer != nullptr) nearest.spec.plan = bases.back();
  return nearest;
}

}  // namespace packsim
