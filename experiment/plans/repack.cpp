#include "experiment/plans/repack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "experiment/plans/new_packs.hpp"
#include "experiment/plans/stopwatch.hpp"
#include "models/state_traffic.hpp"
#include "packing/options/shared_options.hpp"

namespace packsim {
namespace {

StrategySpec spec_of_epoch(const StrategySpec& spec, int epoch) {
  StrategySpec own = spec;
  const std::uint32_t seed =
      static_cast<std::uint32_t>(spec.options[kSeed]) + static_cast<std::uint32_t>(epoch);
  own.options.set(kSeed.name, std::int64_t{seed});
  if (epoch > 0) own.curriculum_iterations = 0;
  return own;
}

// A run has the same states in all of its epochs.
StrategySpec at_chosen_stage(const Scenario& scenario, const StrategySpec& spec,
                             const PlannedStrategy& first) {
  StrategySpec own = spec;
  if (spec.zero_stages.empty()) return own;
  own.plan = with_zero_stage(base_plan(scenario, spec), first.groups.front().zero_stage);
  own.zero_stages.clear();
  return own;
}

// As the strategy was given them or, where it chooses them, as it has chosen.
std::vector<GroupSpec> groups_of(const StrategySpec& spec, const PlannedStrategy& plan) {
  if (!find_strategy(spec.strategy)->chooses_groups) return spec.groups;
  std::vector<GroupSpec> groups;
  for (const PlannedGroup& group : plan.groups) {
    groups.push_back(
        {.capacity_tokens = group.capacity_tokens, .sequence = group.sequence, .gc_layers = group.gc_layers});
  }
  return groups;
}

// The groups of any epoch, in ascending order of capacity.
std::vector<GroupSpec> groups_of_all(const StrategySpec& spec, std::span<const PlannedStrategy> epochs) {
  std::vector<GroupSpec> all;
  for (const PlannedStrategy& epoch : epochs) {
    for (const GroupSpec& group : groups_of(spec, epoch)) {
      if (std::ranges::find(all, group) == all.end()) all.push_back(group);
    }
  }
  std::ranges::stable_sort(all, {}, &GroupSpec::capacity_tokens);
  return all;
}

// Where the packs of an epoch's group are in the run.
struct Place {
  std::uint16_t group = 0;
  std::uint32_t first_pack = 0;
};

void append(const PackSet& from, PackSet& to) {
  const auto base = static_cast<std::uint32_t>(to.items.size());
  to.items.insert(to.items.end(), from.items.begin(), from.items.end());
  for (std::size_t p = 1; p < from.offsets.size(); ++p) to.offsets.push_back(base + from.offsets[p]);
}

// Iterations: a Schedule or PlannedIterations. places: [n_groups of the epoch].
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

// Makes one run of the plans of its epochs.
class Run {
 public:
  // first: the first epoch; what all epochs have in common is taken from it.
  Run(std::vector<GroupSpec> groups, PlannedStrategy& first) : groups_(std::move(groups)) {
    Packing& packing = run_.packing;
    packing.strategy = first.packing.strategy;
    for (const GroupSpec& group : groups_) packing.capacities_tokens.push_back(group.capacity_tokens);
    packing.groups.resize(groups_.size());
    packing.pieces = std::move(first.packing.pieces);
    packing.cut_lengths_tokens = std::move(first.packing.cut_lengths_tokens);
    packing.lengths_tokens = first.packing.lengths_tokens;
    packing.counts = first.packing.counts;
    packing.attention = first.packing.attention;
    run_.schedule.groups.resize(groups_.size());
    run_.schedule.n_gpus = first.schedule.n_gpus;
    run_.schedule.epochs = 0;
    run_.schedule.curriculum_iterations = first.schedule.curriculum_iterations;
  }

  void add(const PlannedStrategy& epoch, std::span<const GroupSpec> groups) {
    std::vector<Place> places;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const auto at = static_cast<std::size_t>(std::ranges::find(groups_, groups[g]) - groups_.begin());
      PackSet& packs = run_.packing.groups[at];
      places.push_back({.group = static_cast<std::uint16_t>(at),
                        .first_pack = static_cast<std::uint32_t>(packs.n_packs())});
      append(epoch.packing.groups[g], packs);
      run_.schedule.groups[at] = epoch.schedule.groups[g];
    }
    const auto n_batches = static_cast<std::int64_t>(run_.packing.planned.iterations.size());
    for (SolveRecord solve : epoch.solves) {
      solve.batch += n_batches;
      run_.solves.push_back(solve);
    }
    append(epoch.packing.planned, places, run_.packing.planned);
    add_schedule(epoch.schedule, places);
    run_.packing_s += epoch.packing_s;
    run_.scheduling_s += epoch.scheduling_s;
  }

  PlannedStrategy finish(const Scenario& scenario, const StrategySpec& spec) {
    set_scheduled_groups(scenario, spec, groups_, run_);
    for (std::size_t g = 0; g < groups_.size(); ++g)
      run_.schedule.groups[g].gc_layers = run_.groups[g].gc_layers;
    return std::move(run_);
  }

 private:
  void add_schedule(const Schedule& epoch, std::span<const Place> places) {
    Schedule& schedule = run_.schedule;
    append(epoch, places, schedule);
    schedule.epochs += epoch.epochs;
    schedule.dropped_packs += epoch.dropped_packs;
    schedule.repeated_packs += epoch.repeated_packs;
    schedule.dropped_tokens += epoch.dropped_tokens;
    schedule.repeated_tokens += epoch.repeated_tokens;
  }

  std::vector<GroupSpec> groups_;
  PlannedStrategy run_;
};

OrderMoves moves_of(const StrategySpec& spec, std::span<const PlannedStrategy> epochs) {
  OrderMoves all;
  for (std::size_t epoch = 0; epoch < epochs.size(); ++epoch) {
    const OrderMoves own =
        order_moves(epochs[epoch].packing, spec_of_epoch(spec, static_cast<int>(epoch)).options);
    all.mean_move_iterations += own.mean_move_iterations / static_cast<double>(epochs.size());
    all.largest_move_iterations = std::max(all.largest_move_iterations, own.largest_move_iterations);
  }
  return all;
}

PackedEpochs compare_epochs(const StrategySpec& spec, std::span<const PlannedStrategy> epochs) {
  std::vector<const Packing*> packings;
  for (const PlannedStrategy& epoch : epochs) packings.push_back(&epoch.packing);
  return {.n_epochs = static_cast<int>(epochs.size()),
          .repacking = count_new_packs(packings),
          .moves = moves_of(spec, epochs)};
}

void check_size(std::size_t n_items, int n_epochs) {
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (n_items == 0 || static_cast<std::size_t>(n_epochs) <= kMost / n_items) return;
  throw std::invalid_argument(fmt::format(
      "repack_each_epoch: expected at most {} samples over all epochs, which makes {} epochs of {}, got {}",
      kMost, kMost / n_items, n_items, n_epochs));
}

}  // namespace

PlannedStrategy plan_each_epoch(const Scenario& scenario, const StrategySpec& spec,
                                std::span<const std::int32_t> lengths_tokens, ScenarioPricers& pricers) {
  const int n_epochs = scenario.training.epochs;
  check_size(lengths_tokens.size(), n_epochs);
  Scenario of_epoch = scenario;
  of_epoch.training.epochs = 1;
  std::vector<PlannedStrategy> epochs;
  epochs.push_back(plan_strategy(of_epoch, spec_of_epoch(spec, 0), lengths_tokens, pricers));
  check_size(epochs.front().packing.lengths_tokens.size(), n_epochs);
  const StrategySpec at_stage = at_chosen_stage(scenario, spec, epochs.front());
  for (int epoch = 1; epoch < n_epochs; ++epoch)
    epochs.push_back(plan_strategy(of_epoch, spec_of_epoch(at_stage, epoch), lengths_tokens, pricers));

  const Stopwatch joining_watch;
  const PackedEpochs packed = compare_epochs(spec, epochs);
  Run run(groups_of_all(spec, epochs), epochs.front());
  for (PlannedStrategy& epoch : epochs) {
    run.add(epoch, groups_of(spec, epoch));
    epoch = {};  // its memory
  }
  PlannedStrategy plan = run.finish(scenario, at_stage);
  plan.epochs = packed;
  plan.scheduling_s += joining_watch.seconds();
  return plan;
}

}  // namespace packsim
