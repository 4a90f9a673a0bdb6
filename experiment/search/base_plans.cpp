#include "experiment/search/base_plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "scenarios/search_space/search_dimensions.hpp"

namespace packsim {
namespace {

ParallelPlan without_groups(ParallelPlan plan) {
  plan.sequence = {};
  plan.gc_layers = 0;
  return plan;
}

// Whether steps are executed in the same way, but for what follows from the ZeRO stage.
bool are_executed_alike(const ParallelPlan& one, ParallelPlan other) {
  other.execution.overlaps_states = one.execution.overlaps_states;
  return one.execution == other.execution && one.lora_rank == other.lora_rank &&
         one.lora_targets == other.lora_targets && one.frozen_weights == other.frozen_weights &&
         one.precision == other.precision;
}

// The strategy, whose search tries what another one's does, but for the ZeRO stages and number formats.
StrategySpec with_space_of(const Scenario& scenario, StrategySpec spec, const StrategySpec& other) {
  for (const SearchDimension* dimension : kSearchDimensions) {
    if (dimension != &kZeroStages && dimension != &kSearchedPrecisions)
      spec.*dimension->said = searched_values(*dimension, scenario, other);
  }
  return spec;
}

// The plan and the values of all dimensions, from which plans_of_space() makes the same plans.
std::pair<ParallelPlan, std::vector<std::vector<int>>> space_from(const Scenario& scenario,
                                                                  const StrategySpec& spec,
                                                                  const ParallelPlan& plan) {
  std::vector<std::vector<int>> values;
  for (const SearchDimension* dimension : kSearchDimensions)
    values.push_back(searched_values(*dimension, scenario, spec));
  return {plan, std::move(values)};
}

// "megatron_hybrid_cp can run (ZeRO 0 to 1, no pipelines, no latent attention)", or what a trainer can.
std::string runner_text(const Scenario& scenario, const StrategySpec& spec) {
  if (scenario.trainer) return fmt::format("{} can run", scenario.trainer->name);
  const PlanLimits& limits = strategy_of(spec).plan_limits;
  return fmt::format("{} can run (ZeRO 0 to {}{}{})", spec.strategy, limits.most_zero_stage,
                     limits.has_pipelines ? "" : ", no pipelines",
                     limits.has_latent_attention ? "" : ", no latent attention");
}

}  // namespace

std::vector<int> choice_of_zero_stages(const Scenario& scenario, const StrategySpec& spec) {
  if (spec.zero_stages.empty() && !spec.searches_plan) return {};
  return searched_values(kZeroStages, scenario, spec);
}

bool is_usual_base(const Scenario& scenario, const StrategySpec& spec, const ParallelPlan& base) {
  ParallelPlan own = without_groups(base_plan(scenario, spec));
  own.execution = base.execution;
  return base == own;
}

std::vector<ParallelPlan> base_plans(const Scenario& scenario, const StrategySpec& spec) {
  const ParallelPlan own = without_groups(base_plan(scenario, spec));
  std::vector<ParallelPlan> plans = plans_of_space(scenario, spec, own);
  // A strategy that must never be slower than the others may use their parallelism, unless it has its own.
  if (!chooses_groups(spec) || spec.plan) return plans;
  using Space = std::pair<ParallelPlan, std::vector<std::vector<int>>>;
  std::vector<Space> known = {space_from(scenario, spec, own)};
  for (const StrategySpec& other : scenario.strategies) {
    const ParallelPlan of_other = without_groups(base_plan(scenario, other));
    if (!are_executed_alike(own, of_other)) continue;
    const StrategySpec with_space = with_space_of(scenario, spec, other);
    const Space space = space_from(scenario, with_space, of_other);
    if (std::ranges::find(known, space) != known.end()) continue;
    known.push_back(space);
    for (const ParallelPlan& plan : plans_of_space(scenario, with_space, of_other)) {
      if (std::ranges::find(plans, plan) == plans.end()) plans.push_back(plan);
    }
  }
  return plans;
}

std::vector<ParallelPlan> some_base_plans(const Scenario& scenario, const StrategySpec& spec) {
  std::vector<ParallelPlan> plans = base_plans(scenario, spec);
  if (!plans.empty()) return plans;
  const std::string mistake = mistake_of_space(scenario, spec, without_groups(base_plan(scenario, spec)));
  if (!mistake.empty())
    throw std::invalid_argument("plan: expected values that the model and the cluster allow, got none: " +
                                mistake);
  const std::vector<PlanMistake> mistakes =
      trainer_mistakes(scenario.trainer.get(), scenario.model, base_plan(scenario, spec));
  throw std::invalid_argument(fmt::format("plan: expected values that {}, got none{}",
                                          runner_text(scenario, spec),
                                          mistakes.empty() ? "" : ": " + mistakes.front().text()));
}

ParallelPlan root_of(const ParallelPlan& plan) {
  ParallelPlan root = plainest(plan);
  root.virtual_stages = 1;
  return root;
}

std::vector<const ParallelPlan*> simpler_plans(const ParallelPlan& plan,
                                               std::span<const ParallelPlan> bases) {
  ParallelPlan in_gpu_memory = plan;
  in_gpu_memory.offload = {};
  std::vector<const ParallelPlan*> simpler;
  for (const ParallelPlan& one : {in_gpu_memory, with_whole_layers(plan)}) {
    if (one == plan) continue;
    if (const auto found = std::ranges::find(bases, one); found != bases.end()) simpler.push_back(&*found);
  }
  return simpler;
}

}  // namespace packsim
