#include "scenarios/scenario.hpp"

#include <algorithm>

namespace packsim {

bool keeps_data_order(const LengthSpec& lengths) {
  return !lengths.shuffle && std::ranges::none_of(lengths.mix, [](const LengthSource& source) {
    return source.count.has_value() || source.weight.has_value();
  });
}

ParallelPlan group_plan(const ParallelPlan& plan, const GroupSpec& group, int gc_layers) {
  ParallelPlan own = plan;
  own.sequence = group.sequence;
  own.gc_layers = gc_layers;
  return own;
}

const Strategy& strategy_of(const StrategySpec& spec) {
  return *find_strategy(spec.strategy);
}

bool forms_iterations(const StrategySpec& spec) {
  return strategy_of(spec).forms_iterations();
}

bool chooses_groups(const StrategySpec& spec) {
  return strategy_of(spec).chooses_groups;
}

bool has_open_groups(const StrategySpec& spec) {
  return spec.searches_plan || chooses_groups(spec);
}

const ParallelPlan& base_plan(const Scenario& scenario, const StrategySpec& spec) {
  return spec.plan ? *spec.plan : scenario.plan;
}

bool has_one_degree(const Scenario& scenario) {
  return scenario.trainer != nullptr && scenario.trainer->degrees == Variety::one;
}

bool has_pipeline(const Scenario& scenario) {
  return std::ranges::any_of(
      scenario.strategies, [&](const StrategySpec& spec) { return base_plan(scenario, spec).pp_degree > 1; });
}

std::vector<std::string_view> free_names(const Scenario& scenario) {
  std::vector<std::string_view> names;
  for (const Cause cause : kExchangeCauses) {
    if (scenario.profile.factors.free_exchange.has(cause)) names.push_back(cause_name(cause));
  }
  if (!scenario.ranks_wait) names.push_back(kFreeWaiting);
  return names;
}

}  // namespace packsim
