#include "experiment/plans/planned_strategy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "experiment/plans/plan_group.hpp"
#include "packing/options/shared_options.hpp"

namespace packsim {
namespace {

// The largest micro-batch decides what fits.
std::int64_t most_tokens(std::span<const MicroBatch> batches) {
  std::int64_t most = 0;
  for (const MicroBatch& batch : batches) most = std::max(most, batch.tokens + batch.padded_tokens);
  return most;
}

// The most micro-batches that a GPU trains in an iteration.
int most_rounds(std::span<const PlacedPack> placed) {
  int most = 1;
  for (const PlacedPack& pack : placed) most = std::max(most, pack.round + 1);
  return most;
}

GroupRuns run_groups(const Scenario& scenario, const StrategySpec& spec, std::span<const GroupSpec> groups,
                     const PackedData& packed, const PlacedPacks& placed) {
  const ParallelPlan& base = base_plan(scenario, spec);
  const bool iterations_differ = !packed.packing.planned.iterations.empty();
  GroupRuns runs;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const GroupPlan& scheduled = placed.schedule.groups[g];
    const int n_micro_batches =
        iterations_differ ? most_rounds(placed.schedule.placed) : scheduled.micro_batches_per_rank;
    if (base.optimizer_in_backward && n_micro_batches > 1) {
      throw std::invalid_argument(
          fmt::format("optimizer_in_backward: expected one micro-batch for each rank in a step, as gradients "
                      "of several have to be kept and added up, got {}",
                      n_micro_batches));
    }
    PlannedGroup& group = runs.groups.emplace_back(
        plan_group(scenario, base, groups[g], most_tokens(packed.batches[g]), n_micro_batches));
    group.n_dp_ranks = scheduled.n_dp_ranks;
    if (!iterations_differ) group.micro_batches_per_rank = n_micro_batches;
    group.packs = std::ssize(packed.batches[g]);
    group.iterations = placed.uses.iterations[g];
    runs.plans.push_back(group_plan(base, groups[g], group.gc_layers));
  }
  return runs;
}

}  // namespace

PackedData packed_data(const StrategySpec& spec, Packing packing) {
  packing.attention = spec.attention;
  PackedData packed{.packing = std::move(packing), .batches = {}};
  for (std::size_t g = 0; g < packed.packing.groups.size(); ++g)
    packed.batches.push_back(micro_batches(packed.packing, g, spec.padding, spec.pad_multiple_tokens));
  return packed;
}

PlannedStrategy planned_strategy(const Scenario& scenario, const StrategySpec& spec,
                                 std::span<const GroupSpec> groups, PackedData packed, PlacedPacks placed,
                                 RunParts parts) {
  GroupRuns runs = run_groups(scenario, spec, groups, packed, placed);
  for (std::size_t g = 0; g < groups.size(); ++g)
    placed.schedule.groups[g].gc_layers = runs.groups[g].gc_layers;
  return {std::move(packed), std::move(placed), std::move(runs), std::move(parts)};
}

std::int64_t samples_of_pack(const StrategySpec& spec) {
  const Strategy& strategy = strategy_of(spec);
  if (strategy.trains_samples_alone) return 1;
  const bool has_rows =
      strategy.layout == Layout::rows && find_option(strategy, kBatchSamples.name) != nullptr;
  return has_rows ? spec.options[kBatchSamples].value_or(0) : 0;
}

std::int64_t longest_tokens(const GroupBatches& batches) {
  std::int32_t longest = 0;
  for (const std::vector<MicroBatch>& packs : batches) {
    for (const MicroBatch& pack : packs) longest = std::max(longest, pack.longest_tokens);
  }
  return longest;
}

IterationSizes iteration_sizes(const Scenario& scenario, const StrategySpec& spec,
                               const PlannedStrategy& plan) {
  const bool forms_iterations = !plan.packing.planned.iterations.empty();
  const bool counts_packs = !forms_iterations && samples_of_pack(spec) == 0;
  std::vector<std::int64_t> pack_tokens;
  std::int64_t n_groups = 0;
  for (const PlannedGroup& group : plan.groups) {
    pack_tokens.push_back(counts_packs ? group.capacity_tokens : 0);
    n_groups += group.packs > 0;
  }
  const std::int64_t parts = scenario.training.epochs * std::max<std::int64_t>(1, std::ssize(plan.windows));
  return iteration_sizes(plan.schedule, plan.batches, pack_tokens,
                         {scenario.training.tokens_per_iteration, longest_tokens(plan.batches)},
                         parts * (forms_iterations ? 1 : n_groups));
}

PlannedStrategy with_schedule(PlannedStrategy plan, Schedule schedule) {
  plan.schedule = std::move(schedule);
  plan.uses = count_pack_uses(plan.batches, plan.schedule);
  for (std::size_t g = 0; g < plan.groups.size(); ++g) plan.groups[g].iterations = plan.uses.iterations[g];
  return plan;
}

}  // namespace packsim
