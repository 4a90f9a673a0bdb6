#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "experiment/plans/pack_attentions.hpp"
#include "experiment/results/iteration_sizes.hpp"
#include "experiment/results/planned_group.hpp"
#include "experiment/results/report.hpp"
#include "packing/pack.hpp"
#include "packing/schedule/metrics.hpp"
#include "packing/schedule/order_moves.hpp"
#include "packing/schedule/pack_use_counts.hpp"
#include "packing/schedule/schedule.hpp"
#include "planning/solver/cbc_assignment_solver.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// The micro-batches of each group: [n_groups][n_packs of the group].
using GroupBatches = std::vector<std::vector<MicroBatch>>;

/// The packs that a strategy makes of a data set.
struct PackedData {
  Packing packing;
  GroupBatches batches;
  /// What other jobs know of the attention of these packs; null if they share nothing.
  std::shared_ptr<PackAttentions> attentions = {};
  std::vector<SolveRecord> solves = {};  ///< the integer programs that were solved
  /// [n_items], loss tokens of each item as a schedule file gives them; empty: every token of an item has
  /// loss, except the first.
  std::vector<std::int32_t> loss_tokens = {};
  double packing_s = 0;  ///< time that packing took on this machine
};

/// When and where these packs are trained.
struct PlacedPacks {
  Schedule schedule;
  PackUseCounts uses;       ///< how often the schedule trains each pack
  double scheduling_s = 0;  ///< time that making the schedule took on this machine
};

/// How the packs of each group run.
struct GroupRuns {
  std::vector<ParallelPlan> plans;   ///< [n_groups]
  std::vector<PlannedGroup> groups;  ///< degrees, checkpointing, memory and iterations
};

/// The epochs of a run that packs its samples anew in each (plan_each_epoch()).
struct PackedEpochs {
  int n_epochs = 1;
  Repacking repacking;
};

/// The draws of a mixture between two updates, as a strategy trains them.
struct PlannedWindow {
  std::int64_t first_iteration = 0;
  std::int64_t n_iterations = 0;
  std::int64_t n_draws = 0;        ///< including those that the window before has left
  std::int64_t carried_draws = 0;  ///< draws left for the next window, as they fill no iteration
  double fill_fraction = 0;        ///< tokens over pack length, of the packs; NaN for rows
  ScheduleMetrics balance;         ///< of its iterations; zero if it has none
};

/// What a run of several parts, each packed by itself, has in addition to its packs.
struct RunParts {
  /// If set, the packing has the packs and planned iterations of all epochs, and every item is in one pack of
  /// each. If not, all epochs train the same packs.
  std::optional<PackedEpochs> epochs;
  /// If not empty, these are plans of windows of draws: items are draws, and every draw is in one window.
  std::vector<PlannedWindow> windows;
  /// Moves of samples in the parts of a strategy that forms iterations: the mean and the largest over all
  /// parts. Not set: order_moves() of the packing.
  std::optional<OrderMoves> moves;
};

/// A strategy for a scenario's data, before anything is priced: its packs, their places, how each group of
/// them runs, and the parts of the run.
struct PlannedStrategy : PackedData, PlacedPacks, GroupRuns, RunParts {};

/// The packs of a packing with the padding and the attention of a strategy.
PackedData packed_data(const StrategySpec& spec, Packing packing);

/// Puts a plan together: groups run as their packs need it. groups: [n_groups] of the packs.
PlannedStrategy planned_strategy(const Scenario& scenario, const StrategySpec& spec,
                                 std::span<const GroupSpec> groups, PackedData packed, PlacedPacks placed,
                                 RunParts parts = {});

/// Samples of a pack, if the strategy has a fixed number of them; else 0.
std::int64_t samples_of_pack(const StrategySpec& spec);

/// The longest sample of the packs, or piece of a cut sample.
std::int64_t longest_tokens(const GroupBatches& batches);

/// The sizes of the plan's iterations beside the one that the scenario asks for.
IterationSizes iteration_sizes(const Scenario& scenario, const StrategySpec& spec,
                               const PlannedStrategy& plan);

/// The same plan where only some of its iterations are trained.
PlannedStrategy with_schedule(PlannedStrategy plan, Schedule schedule);

}  // namespace packsim
