#include "experiment/search/base_plans.hpp"

#include <algorithm>
#include <set>

#include "models/state_traffic.hpp"

namespace packsim {
std::vector<int> choice_of_zero_stages(const Scenario& scenario, const StrategySpec& spec) {
  std::set<int> stages(spec.zero_stages.begin(), spec.zero_stages.end());
  if (stages.empty() && spec.searches_plan) stages = {1, 2, 3, base_plan(scenario, spec).zero_stage};
  return {stages.begin(), stages.end()};
}

namespace {

// The plan with each shard degree that is possible.
void add_shard_degrees(const Scenario& scenario, const StrategySpec& spec, ParallelPlan plan,
                       std::vector<ParallelPlan>& plans) {
  std::vector<int> degrees = spec.shard_degrees;
  if (degrees.empty()) degrees = {plan.shard_degree};
  for (const int degree : degrees) {
    plan.shard_degree = degree;
    if (plan_mistakes(scenario.model, scenario.cluster, plan).empty()) plans.push_back(plan);
  }
}

// The plan at each stage at which it is possible for some degree of sequences.
void add_stages(const Scenario& scenario, const StrategySpec& spec, const ParallelPlan& plan,
                std::vector<ParallelPlan>& plans) {
  std::vector<int> stages = choice_of_zero_stages(scenario, spec);
  if (stages.empty()) stages = {plan.zero_stage};
  for (const int stage : stages) {
    // In a pipeline, stages 2 and 3 send and hold what stage 1 does, so they are tried only if asked for.
    const bool is_asked =
        !spec.zero_stages.empty() || stage <= 1 || stage == base_plan(scenario, spec).zero_stage;
    if (plan.pp_degree > 1 && !is_asked) continue;
    const ParallelPlan at_stage = stage == plan.zero_stage ? plan : with_zero_stage(plan, stage);
    add_shard_degrees(scenario, spec, at_stage, plans);
  }
}

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

}  // namespace

bool is_usual_base(const Scenario& scenario, const StrategySpec& spec, const ParallelPlan& base) {
  const ParallelPlan own = base_plan(scenario, spec);
  return base.zero_stage == own.zero_stage && base.shard_degree == own.shard_degree;
}

std::vector<ParallelPlan> base_plans(const Scenario& scenario, const StrategySpec& spec) {
  const ParallelPlan own = without_groups(base_plan(scenario, spec));
  std::vector<ParallelPlan> plans;
  add_stages(scenario, spec, own, plans);
  // A strategy that must never be slower than the others may use their parallelism, unless it has its own.
  if (!chooses_groups(spec) || spec.plan) return plans;
  std::vector<ParallelPlan> known = {with_zero_stage(own, own.zero_stage)};
  for (const StrategySpec& other : scenario.strategies) {
    const ParallelPlan plan = with_zero_stage(without_groups(base_plan(scenario, other)), own.zero_stage);
    if (!are_executed_alike(own, plan) || std::ranges::find(known, plan) != known.end()) continue;
    known.push_back(plan);
    add_stages(scenario, spec, plan, plans);
  }
  return plans;
}

std::vector<ParallelPlan> wider_base_plans(const Scenario& scenario, const StrategySpec& spec) {
  std::vector<ParallelPlan> plans;
  const int most_experts = scenario.model.has_experts() ? scenario.cluster.n_gpus() : 1;
  for (int tp = 1; tp <= scenario.cluster.gpus_per_node; tp *= 2) {
    for (int pp = 1; tp * pp <= scenario.cluster.n_gpus(); pp *= 2) {
      for (int ep = 1; ep <= most_experts; ep *= 2) {
        ParallelPlan plan = without_groups(base_plan(scenario, spec));
        plan.tp_degree = tp;
        plan.pp_degree = pp;
        plan.ep_degree = ep;
        plan.chunk_layers.clear();
        if (pp == 1) plan.virtual_stages = 1;
        if (plan.virtual_stages == 1) plan.pipeline_schedule = nullptr;
        add_stages(scenario, spec, plan, plans);
      }
    }
  }
  std::ranges::stable_sort(plans, {}, &ParallelPlan::rank_gpus);
  return plans;
}

}  // namespace packsim
