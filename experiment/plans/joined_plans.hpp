#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "experiment/plans/planned_strategy.hpp"

namespace packsim {

/// The groups of a plan, as the strategy was given them or, where it chooses them, as it has chosen.
std::vector<GroupSpec> groups_of_plan(const StrategySpec& spec, const PlannedStrategy& plan);

/// The groups of any of the plans, in ascending order of capacity.
std::vector<GroupSpec> groups_of_plans(const StrategySpec& spec, std::span<const PlannedStrategy> plans);

/// The strategy of part k of a run: its option seed is k more, and only the first part has a curriculum.
StrategySpec spec_of_part(const StrategySpec& spec, std::size_t part);

/// The strategy of all later parts: at the ZeRO stage that the first one has chosen, as a run has the same
/// states throughout.
StrategySpec at_chosen_stage(const Scenario& scenario, const StrategySpec& spec,
                             const PlannedStrategy& first);

/// Makes one run of plans that are trained one after another.
class JoinedPlans {
 public:
  /// groups: those of all plans. first: the first plan, which gives the strategy and the number of GPUs.
  JoinedPlans(std::vector<GroupSpec> groups, const PlannedStrategy& first);

  /// The packing of the run, whose items, counts and pieces the caller sets.
  Packing& packing() { return packed_.packing; }
  /// The iterations that the run has so far.
  std::size_t n_iterations() const { return placed_.schedule.iterations.size(); }

  /// Adds a plan. groups: its own. items: [n_items of the plan] what each is in the run; empty: the same.
  void add(const PlannedStrategy& plan, std::span<const GroupSpec> groups,
           std::span<const ItemIndex> items = {});

  /// The run, which the windows of `parts` train once.
  PlannedStrategy finish(const Scenario& scenario, const StrategySpec& spec, RunParts parts);

 private:
  std::vector<GroupSpec> groups_;
  PackedData packed_;
  PlacedPacks placed_;
};

}  // namespace packsim
