#include "experiment/plans/joined_plans.hpp"

#include <algorithm>
#include <utility>

#include "models/state_traffic.hpp"
#include "packing/options/shared_options.hpp"

namespace packsim {
namespace {

// The place of the packs of a plan's group in the run.
struct Place {
  std::uint16_t group = 0;
  std::uint32_t first_pack = 0;
};

void append(const PackSet& from, std::span<const ItemIndex> items, PackSet& to) {
  const auto base = static_cast<std::uint32_t>(to.items.size());
  if (items.empty()) {
    to.items.insert(to.items.end(), from.items.begin(), from.items.end());
  } else {
    for (const ItemIndex item : from.items) to.items.push_back(items[item]);
  }
  for (std::size_t p = 1; p < from.offsets.size(); ++p) to.offsets.push_back(base + from.offsets[p]);
}

// Iterations: a Schedule or PlannedIterations. places: [n_groups of the plan].
template <typename Iterations>
void append(const Iterations& from, std::span<const Place> places, Iterations& to) {
  const auto base = static_cast<std::uint32_t>(to.placed.size());
  for (PlacedPack placed : from.placed) {
    const Place& place = places[placed.group];
    placed.group = place.group;
    placed.pack += place.first_pack;
    to.placed.push_back(placed);
  }
  for (const Iteration& iteration : from.iterations)
    to.iterations.push_back({base + iteration.first_placed, iteration.n_placed});
}

}  // namespace

std::vector<GroupSpec> groups_of_plan(const StrategySpec& spec, const PlannedStrategy& plan) {
  if (!chooses_groups(spec)) return spec.groups;
  std::vector<GroupSpec> groups;
  for (const PlannedGroup& group : plan.groups) {
    groups.push_back(
        {.capacity_tokens = group.capacity_tokens, .sequence = group.sequence, .gc_layers = group.gc_layers});
  }
  return groups;
}

std::vector<GroupSpec> groups_of_plans(const StrategySpec& spec, std::span<const PlannedStrategy> plans) {
  std::vector<GroupSpec> all;
  for (const PlannedStrategy& plan : plans) {
    for (const GroupSpec& group : groups_of_plan(spec, plan)) {
      if (std::ranges::find(all, group) == all.end()) all.push_back(group);
    }
  }
  std::ranges::stable_sort(all, {}, &GroupSpec::capacity_tokens);
  return all;
}

StrategySpec spec_of_part(const StrategySpec& spec, std::size_t part) {
  StrategySpec own = spec;
  const std::uint32_t seed =
      static_cast<std::uint32_t>(spec.options[kSeed]) + static_cast<std::uint32_t>(part);
  own.options.set(kSeed.name, std::int64_t{seed});
  if (part > 0) own.curriculum_iterations = 0;
  return own;
}

StrategySpec at_chosen_stage(const Scenario& scenario, const StrategySpec& spec,
                             const PlannedStrategy& first) {
  StrategySpec own = spec;
  if (spec.zero_stages.empty()) return own;
  own.plan = with_zero_stage(base_plan(scenario, spec), first.groups.front().zero_stage);
  own.zero_stages.clear();
  return own;
}

JoinedPlans::JoinedPlans(std::vector<GroupSpec> groups, const PlannedStrategy& first)
    : groups_(std::move(groups)) {
  Packing& packing = packed_.packing;
  packing.strategy = first.packing.strategy;
  for (const GroupSpec& group : groups_) packing.capacities_tokens.push_back(group.capacity_tokens);
  packing.groups.resize(groups_.size());
  placed_.schedule.groups.resize(groups_.size());
  placed_.schedule.n_gpus = first.schedule.n_gpus;
  placed_.schedule.epochs = 0;
  placed_.schedule.curriculum_iterations = first.schedule.curriculum_iterations;
}

void JoinedPlans::add(const PlannedStrategy& plan, std::span<const GroupSpec> groups,
                      std::span<const ItemIndex> items) {
  std::vector<Place> places;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto at = static_cast<std::size_t>(std::ranges::find(groups_, groups[g]) - groups_.begin());
    PackSet& packs = packed_.packing.groups[at];
    places.push_back(
        {.group = static_cast<std::uint16_t>(at), .first_pack = static_cast<std::uint32_t>(packs.n_packs())});
    append(plan.packing.groups[g], items, packs);
    placed_.schedule.groups[at] = plan.schedule.groups[g];
  }
  const auto n_batches = static_cast<std::int64_t>(packed_.packing.planned.iterations.size());
  for (SolveRecord solve : plan.solves) {
    solve.batch += n_batches;
    packed_.solves.push_back(solve);
  }
  append(plan.packing.planned, places, packed_.packing.planned);
  Schedule& schedule = placed_.schedule;
  append(plan.schedule, places, schedule);
  schedule.epochs += plan.schedule.epochs;
  schedule.dropped_packs += plan.schedule.dropped_packs;
  schedule.repeated_packs += plan.schedule.repeated_packs;
  schedule.dropped_tokens += plan.schedule.dropped_tokens;
  schedule.repeated_tokens += plan.schedule.repeated_tokens;
  packed_.packing_s += plan.packing_s;
  placed_.scheduling_s += plan.scheduling_s;
}

PlannedStrategy JoinedPlans::finish(const Scenario& scenario, const StrategySpec& spec, RunParts parts) {
  if (!parts.windows.empty()) placed_.schedule.epochs = 1;
  PackedData packed = packed_data(spec, std::move(packed_.packing));
  packed.solves = std::move(packed_.solves);
  packed.packing_s = packed_.packing_s;
  placed_.uses = count_pack_uses(packed.batches, placed_.schedule);
  return planned_strategy(scenario, spec, groups_, std::move(packed), std::move(placed_), std::move(parts));
}

}  // namespace packsim
