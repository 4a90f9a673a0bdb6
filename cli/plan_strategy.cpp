#include "cli/plan_strategy.hpp"

#include <algorithm>
#include <chrono>

#include "models/memory.hpp"

namespace packsim {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The GPU of the largest micro-batch decides what fits.
double most_tokens_per_gpu(std::span<const MicroBatch> batches, int sp_degree) {
  std::int64_t most = 0;
  for (const MicroBatch& batch : batches) most = std::max(most, batch.tokens + batch.padded_tokens);
  return static_cast<double>(most) / sp_degree;
}

}  // namespace

PackRequest pack_request(const StrategySpec& spec, std::span<const std::int32_t> lengths_tokens) {
  PackRequest request{.lengths_tokens = lengths_tokens,
                      .capacities_tokens = {},
                      .over_long = spec.over_long,
                      .empty = spec.empty,
                      .window_samples = spec.window_samples,
                      .options = spec.options};
  for (const GroupSpec& group : spec.groups) request.capacities_tokens.push_back(group.capacity_tokens);
  return request;
}

GroupResult plan_group(const Scenario& scenario, const GroupSpec& group, double tokens_per_gpu) {
  const int zero_stage = scenario.training.zero_stage;
  const int fewest =
      fewest_gc_layers(scenario.model, scenario.cluster, scenario.profile, zero_stage, tokens_per_gpu);
  GroupResult plan;
  plan.capacity_tokens = group.capacity_tokens;
  plan.sp_degree = group.sp_degree;
  plan.gc_layers = group.gc_layers.value_or(fewest < 0 ? scenario.model.n_layers : fewest);
  const MemoryUse use = peak_memory(scenario.model, scenario.cluster, scenario.profile, zero_stage,
                                    tokens_per_gpu, plan.gc_layers);
  plan.peak_memory_bytes = use.total_bytes();
  plan.gpu_memory_bytes = static_cast<double>(scenario.cluster.gpu_memory_bytes);
  plan.feasible = plan.peak_memory_bytes <= plan.gpu_memory_bytes;
  plan.states_bytes = use.states_bytes;
  plan.activations_bytes = use.activations_bytes;
  plan.checkpoints_bytes = use.checkpoints_bytes;
  plan.logits_bytes = use.logits_bytes;
  plan.reserved_bytes = use.reserved_bytes;
  return plan;
}

PlannedStrategy plan_strategy(const Scenario& scenario, const StrategySpec& spec,
                              std::span<const std::int32_t> lengths_tokens) {
  PlannedStrategy plan;
  const auto packing_start = std::chrono::steady_clock::now();
  plan.packing = pack(spec.strategy, pack_request(spec, lengths_tokens));
  plan.packing_s = seconds_since(packing_start);

  const auto scheduling_start = std::chrono::steady_clock::now();
  std::vector<GroupParallelism> parallelism;
  for (std::size_t g = 0; g < spec.groups.size(); ++g) {
    const GroupSpec& group = spec.groups[g];
    plan.batches.push_back(micro_batches(plan.packing, g, spec.padding, spec.pad_multiple_tokens));
    plan.groups.push_back(plan_group(scenario, group, most_tokens_per_gpu(plan.batches[g], group.sp_degree)));
    parallelism.push_back({.sp_degree = group.sp_degree, .gc_layers = plan.groups[g].gc_layers});
  }
  const bool by_tokens = !spec.micro_batches_per_rank.has_value();
  plan.schedule =
      make_schedule(plan.batches, plan.packing.capacities_tokens, parallelism,
                    {.n_gpus = scenario.cluster.n_gpus(),
                     .tokens_per_iteration = by_tokens ? scenario.training.tokens_per_iteration : 0,
                     .micro_batches_per_rank = spec.micro_batches_per_rank.value_or(1),
                     .order = spec.order,
                     .last_iteration = spec.last_iteration,
                     .curriculum_iterations = spec.curriculum_iterations,
                     .epochs = scenario.training.epochs,
                     .seed = spec.options.seed});
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    plan.groups[g].packs = static_cast<std::int64_t>(plan.batches[g].size());
    plan.groups[g].n_dp_ranks = plan.schedule.groups[g].n_dp_ranks;
    plan.groups[g].micro_batches_per_rank = plan.schedule.groups[g].micro_batches_per_rank;
  }
  for (const Iteration& iteration : plan.schedule.iterations) ++plan.groups[iteration.group].iterations;
  plan.scheduling_s = seconds_since(scheduling_start);
  return plan;
}

}  // namespace packsim
