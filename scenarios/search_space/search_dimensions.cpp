#include "scenarios/search_space/search_dimensions.hpp"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <string>
#include <utility>

#include "models/plan/plan_key.hpp"

namespace packsim {

namespace {

bool can_run(const PlanLimits& limits, const Transformer& model, const ParallelPlan& plan) {
  return plan.zero_stage <= limits.most_zero_stage && (limits.has_pipelines || plan.pp_degree == 1) &&
         (limits.has_latent_attention || !model.has_latent_attention());
}

}  // namespace

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

ParallelPlan with_whole_layers(ParallelPlan plan) {
  plan.checkpointing = Checkpointing::full;
  plan.recomputed_modules = {};
  return plan;
}

ParallelPlan plainest(ParallelPlan plan) {
  plan.offload = {};
  return with_whole_layers(std::move(plan));
}

std::vector<std::string> values_of(const SearchDimension& dimension, std::span<const ParallelPlan> plans) {
  const PlanKey& key = *find_plan_key(dimension.plan_key);
  std::map<int, std::string> values;
  for (const ParallelPlan& plan : plans)
    values.try_emplace(dimension.value(plan), plan_value_text(key.get(plan)));
  const auto texts = std::views::values(values);
  return {texts.begin(), texts.end()};
}

namespace {

// The plans that have a value of every dimension, whatever allows them.
std::vector<ParallelPlan> all_of_space(const Scenario& scenario, const StrategySpec& spec,
                                       const ParallelPlan& plan) {
  std::vector<ParallelPlan> plans = {plan};
  for (const SearchDimension* dimension : kSearchDimensions) {
    const std::vector<int> values = searched_values(*dimension, scenario, spec);
    const bool is_said = !(spec.*dimension->said).empty();
    std::vector<ParallelPlan> wider;
    for (const ParallelPlan& one : plans) {
      for (const int value : values) {
        std::optional<ParallelPlan> with = dimension->with(one, value, is_said, plan);
        if (with && (wider.empty() || wider.back() != *with)) wider.push_back(*std::move(with));
      }
    }
    plans = std::move(wider);
  }
  return plans;
}

}  // namespace

std::vector<ParallelPlan> plans_of_space(const Scenario& scenario, const StrategySpec& spec,
                                         const ParallelPlan& plan) {
  std::vector<ParallelPlan> plans = all_of_space(scenario, spec, plan);
  const PlanLimits& limits = strategy_of(spec).plan_limits;
  std::erase_if(plans, [&](const ParallelPlan& one) {
    return !can_run(limits, scenario.model, one) ||
           !plan_mistakes(scenario.model, scenario.cluster, one).empty() ||
           !trainer_mistakes(scenario.trainer.get(), scenario.model, one).empty();
  });
  return plans;
}

std::string mistake_of_space(const Scenario& scenario, const StrategySpec& spec, const ParallelPlan& plan) {
  std::string first;
  for (const ParallelPlan& one : all_of_space(scenario, spec, plan)) {
    const std::vector<PlanMistake> mistakes = plan_mistakes(scenario.model, scenario.cluster, one);
    if (mistakes.empty()) return "";
    if (first.empty()) first = mistakes.front().text();
  }
  return first;
}

}  // namespace packsim
