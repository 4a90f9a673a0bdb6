#include "plan_files/restore_plan.hpp"

#include <algorithm>

namespace packsim {
namespace {

Schedule restore_schedule(const PlanTables& plan) {
  Schedule schedule;
  const PlanFacts& facts = plan.facts;
  schedule.n_gpus = facts.n_gpus;
  schedule.epochs = facts.epochs;
  schedule.dropped_packs = facts.dropped_packs;
  schedule.dropped_tokens = facts.dropped_pack_tokens;
  schedule.repeated_packs = facts.repeated_packs;
  schedule.repeated_tokens = facts.repeated_tokens;
  schedule.curriculum_iterations = facts.curriculum_iterations;
  for (const PlanGroup& group : plan.groups) {
    schedule.groups.push_back({.gpus_per_pack = static_cast<int>(group.gpus_per_pack()),
                               .gc_layers = static_cast<int>(group.gc_layers),
                               .n_dp_ranks = facts.n_gpus / static_cast<int>(group.gpus_per_pack()),
                               .micro_batches_per_rank = static_cast<int>(group.micro_batches_per_rank)});
  }
  schedule.placed.reserve(plan.placed.size());
  for (const PlanPlacedPack& placed : plan.placed) {
    schedule.placed.push_back({.pack = placed.pack,
                               .first_gpu = placed.first_gpu,
                               .group = placed.group,
                               .round = placed.round,
                               .after_barrier = (placed.flags & PlanPlacedPack::kAfterBarrier) != 0});
  }
  schedule.iterations.reserve(plan.iterations.size());
  for (const PlanIteration& iteration : plan.iterations)
    schedule.iterations.push_back({.first_placed = iteration.first_placed, .n_placed = iteration.n_placed});
  return schedule;
}

// The iterations of an epoch in the order in which the strategy formed them, which is that of their packs.
PlannedIterations planned_iterations(const Schedule& schedule) {
  PlannedIterations planned;
  planned.placed = schedule.placed;
  planned.iterations = schedule.iterations;
  std::ranges::sort(planned.iterations, {}, &Iteration::first_placed);
  const auto repeated = std::ranges::unique(planned.iterations);
  planned.iterations.erase(repeated.begin(), repeated.end());
  return planned;
}

}  // namespace

Packing restore_packing(const PlanTables& plan, const Strategy& strategy) {
  Packing packing;
  packing.strategy = &strategy;
  packing.counts = plan.facts.counts;
  packing.lengths_tokens = plan.lengths_tokens;
  for (std::size_t i = 0; i < plan.piece_samples.size(); ++i) {
    packing.pieces.push_back({.sample_index = plan.piece_samples[i],
                              .start_token = plan.piece_starts[i],
                              .n_tokens = plan.lengths_tokens[i]});
  }
  for (const PlanGroup& group : plan.groups) {
    packing.capacities_tokens.push_back(group.capacity_tokens);
    PackSet& packs = packing.groups.emplace_back();
    const auto offsets = plan.pack_offsets.subspan(group.first_pack, group.n_packs + std::size_t{1});
    const auto items = plan.pack_items.subspan(offsets.front(), offsets.back() - offsets.front());
    packs.items.assign(items.begin(), items.end());
    packs.offsets.resize(offsets.size());
    std::ranges::transform(offsets, packs.offsets.begin(), [&](std::uint64_t offset) {
      return static_cast<std::uint32_t>(offset - offsets.front());
    });
  }
  return packing;
}

RestoredPlan restore_plan(const PlanView& plan) {
  plan.check();
  RestoredPlan restored{.packing = restore_packing(*plan, *find_strategy(plan->facts.strategy)),
                        .schedule = restore_schedule(*plan),
                        .sequence = {}};
  if (restored.packing.strategy->forms_iterations())
    restored.packing.planned = planned_iterations(restored.schedule);
  for (const PlanGroup& group : plan->groups) restored.sequence.push_back(group.sequence());
  return restored;
}

}  // namespace packsim
