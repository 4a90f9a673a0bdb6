#include "experiment/plans/joined_plans.hpp"

#include <algorithm>
#include <utility>

#include "models/state_traffic.hpp"
#include "packing/options/shared_options.hpp"

namespace packsim {
namespace {

// Where the packs of a plan's group are in the run.
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
  if (!find_strategy(spec.strategy)->chooses_groups) return spec.groups;
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
  Packing& packing = run_.packing;
  packing.strategy = first.packing.strategy;
  for (const GroupSpec& group : groups_) packing.capacities_tokens.push_back(group.capacity_tokens);
  packing.groups.resize(groups_.size());
  packing.attention = first.packing.attention;
  run_.schedule.groups.resize(groups_.size());
  run_.schedule.n_gpus = first.schedule.n_gpus;
  run_.schedule.epochs = 0;
  run_.schedule.curriculum_iterations = first.schedule.curriculum_iterations;
}

void JoinedPlans::add(const PlannedStrategy& plan, std::span<const GroupSpec> groups,
                      std::span<const ItemIndex> items) {
  std::vector<Place> places;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto at = static_cast<std::size_t>(std::ranges::find(groups_, groups[g]) - groups_.begin());
    PackSet& packs = run_.packing.groups[at];
    places.push_back(
        {.group = static_cast<std::uint16_t>(at), .first_pack = static_cast<std::uint32_t>(packs.n_packs())});
    append(plan.packing.groups[g], items, packs);
    run_.schedule.groups[at] = plan.schedule.groups[g];
  }
  const auto n_batches = static_cast<std::int64_t>(run_.packing.planned.iterations.size());
  for (SolveRecord solve : plan.solves) {
    solve.batch += n_batches;
    run_.solves.push_back(solve);
  }
  append(plan.packing.planned, places, run_.packing.planned);
  Schedule& schedule = run_.schedule;
  append(plan.schedule, places, schedule);
  schedule.epochs += plan.schedule.epochs;
  schedule.dropped_packs += plan.schedule.dropped_packs;
  schedule.repeated_packs += plan.schedule.repeated_packs;
  schedule.dropped_tokens += plan.schedule.dropped_tokens;
  schedule.repeated_tokens += plan.schedule.repeated_tokens;
  run_.packing_s += plan.packing_s;
  run_.scheduling_s += plan.scheduling_s;
}

PlannedStrategy JoinedPlans::finish(const Scenario& scenario, const StrategySpec& spec) {
  set_scheduled_groups(scenario, spec, groups_, run_);
  for (std::size_t g = 0; g < groups_.size(); ++g)
    run_.schedule.groups[g].gc_layers = run_.groups[g].gc_layers;
  return std::move(run_);
}

}  // namespace packsim
