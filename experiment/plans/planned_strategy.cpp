#include "experiment/plans/planned_strategy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "experiment/plans/plan_group.hpp"

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

PlannedStrategy with_schedule(PlannedStrategy plan, Schedule schedule) {
  plan.schedule = std::move(schedule);
  plan.uses = count_pack_uses(plan.batches, plan.schedule);
  for (std::size_t g = 0; g < plan.groups.size(); ++g) plan.groups[g].iterations = plan.uses.iterations[g];
  return plan;
}

}  // namespace packsim
