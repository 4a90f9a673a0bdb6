#include "experiment/plans/plan_group.hpp"

#include <optional>

#include "models/pipeline_chunks.hpp"
#include "packing/schedule/schedule.hpp"

namespace packsim {

int packed_gpus(const ParallelPlan& plan) {
  return plan.state_gpus();
}

MemoryAssumptions memory_assumptions(const Scenario& scenario) {
  return memory_assumptions(scenario.profile.factors);
}

PlannedGroup plan_group(const Scenario& scenario, const ParallelPlan& base, const GroupSpec& group,
                        std::int64_t pack_tokens, int n_micro_batches) {
  const MemoryAssumptions assumptions = memory_assumptions(scenario);
  ParallelPlan plan = group_plan(base, group, 0);
  const double tokens_per_gpu = static_cast<double>(pack_tokens) / plan.sequence_gpus();
  PlanMemory memory(scenario.model, scenario.cluster, plan, assumptions);
  if (group.gc_layers) {
    plan.gc_layers = *group.gc_layers;
  } else {
    const std::optional<int> fewest =
        fewest_gc_layers(memory, tokens_per_gpu, n_micro_batches, memory_margin(plan, assumptions));
    plan.gc_layers = trainer_layers(scenario.trainer.get(), scenario.model, plan,
                                    fewest.value_or(scenario.model.n_layers));
  }
  plan.gc_layers = checkpointed_layers(scenario.model, plan);
  memory.set_gc_layers(plan.gc_layers);
  PlannedGroup result;
  result.capacity_tokens = group.capacity_tokens;
  result.sequence = group.sequence;
  result.gc_layers = plan.gc_layers;
  result.zero_stage = plan.zero_stage;
  result.memory = memory.peak(tokens_per_gpu, n_micro_batches);
  result.peak_memory_bytes = result.memory.total_bytes();
  result.gpu_memory_bytes = static_cast<double>(scenario.cluster.gpu.memory_bytes);
  result.host_memory_bytes = scenario.cluster.host_memory_bytes;
  result.memory_error = memory_error(plan, assumptions);
  result.verdict = memory_verdict(scenario.cluster, result.memory, result.memory_error);
  result.fits_with_margin = fits(scenario.cluster, result.memory, memory_margin(plan, assumptions));
  result.feasible = result.verdict != MemoryVerdict::does_not_fit;
  return result;
}

namespace {

int n_dp_ranks_of(const Scenario& scenario, const StrategySpec& spec, const GroupSpec& group) {
  return packed_gpus(base_plan(scenario, spec)) / group.sequence.gpus_per_pack();
}

}  // namespace

int full_micro_batches(const Scenario& scenario, const StrategySpec& spec, const GroupSpec& group) {
  if (spec.micro_batches_per_rank) return *spec.micro_batches_per_rank;
  return micro_batches_that_fit(scenario.training.tokens_per_iteration, n_dp_ranks_of(scenario, spec, group),
                                group.capacity_tokens);
}

PlannedGroup plan_full_group(const Scenario& scenario, const StrategySpec& spec, const GroupSpec& group) {
  const int n_micro_batches = full_micro_batches(scenario, spec, group);
  PlannedGroup planned =
      plan_group(scenario, base_plan(scenario, spec), group, group.capacity_tokens, n_micro_batches);
  planned.n_dp_ranks = n_dp_ranks_of(scenario, spec, group);
  planned.micro_batches_per_rank = n_micro_batches;
  return planned;
}

}  // namespace packsim
