#include "scenarios/search_space/search_dimensions.hpp"

#include <algorithm>

namespace packsim {

std::vector<int> searched_values(const SearchDimension& dimension, const Scenario& scenario,
                                 const StrategySpec& spec) {
  const std::vector<int>& said = spec.*dimension.said;
  const ParallelPlan own = base_plan(scenario, spec);
  std::vector<int> values = said;
  if (said.empty() && spec.searches_plan && dimension.usual != nullptr)
    values = dimension.usual(scenario, own);
  if (values.empty()) values = {dimension.value(own)};
  const std::set<int> ascending(values.begin(), values.end());
  return {ascending.begin(), ascending.end()};
}

std::set<int> values_of(const SearchDimension& dimension, std::span<const ParallelPlan> plans) {
  std::set<int> values;
  for (const ParallelPlan& plan : plans) values.insert(dimension.value(plan));
  return values;
}

std::vector<ParallelPlan> plans_of_space(const Scenario& scenario, const StrategySpec& spec,
                                         const ParallelPlan& plan) {
  std::vector<ParallelPlan> plans = {plan};
  for (const SearchDimension* dimension : kSearchDimensions) {
    const std::vector<int> values = searched_values(*dimension, scenario, spec);
    const bool is_said = !(spec.*dimension->said).empty();
    std::vector<ParallelPlan> wider;
    for (const ParallelPlan& one : plans) {
      for (const int value : values) {
        if (std::optional<ParallelPlan> with = dimension->with(one, value, is_said, plan))
          wider.push_back(*std::move(with));
      }
    }
    plans = std::move(wider);
  }
  std::erase_if(plans, [&](const ParallelPlan& one) {
    return !plan_mistakes(scenario.model, scenario.cluster, one).empty() ||
           !trainer_mistakes(scenario.trainer.get(), scenario.model, one).empty();
  });
  return plans;
}

}  // namespace packsim
