#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "experiment/plans/pack_cache.hpp"
#include "experiment/pricers/shared_prices.hpp"
#include "experiment/results/report.hpp"
#include "packing/pack.hpp"
#include "packing/schedule/metrics.hpp"
#include "packing/schedule/order_moves.hpp"
#include "packing/schedule/pack_use_counts.hpp"
#include "packing/schedule/schedule.hpp"
#include "planning/solver/cbc_assignment_solver.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// The epochs of a run that packs its samples anew in each (plan_each_epoch()).
struct PackedEpochs {
  int n_epochs = 1;
  Repacking repacking;
};

/// The draws of a mixture between two updates, as a strategy trains them.
struct PlannedWindow {
  std::int64_t first_iteration = 0;
  std::int64_t n_iterations = 0;
  std::int64_t n_draws = 0;        ///< with those that the window before has left
  std::int64_t carried_draws = 0;  ///< left for the next window, as they fill no iteration
  double fill_fraction = 0;        ///< tokens over pack length, of the packs; NaN for rows
  ScheduleMetrics balance;         ///< of its iterations; zero if it has none
};

/// The packs and the schedule of a strategy for a scenario's data, before anything is simulated.
struct PlannedStrategy {
  Packing packing;
  GroupBatches batches;
  /// What other jobs know of the attention of these packs; null where they share nothing.
  std::shared_ptr<PackAttentions> attentions;
  std::vector<ParallelPlan> plans;   ///< [n_groups]
  std::vector<PlannedGroup> groups;  ///< degrees, checkpointing, memory and iterations
  Schedule schedule;
  /// If set, `packing` has the packs and planned iterations of all epochs, and every item is in one pack of
  /// each. If not, all epochs train the same packs.
  std::optional<PackedEpochs> epochs;
  /// If not empty, these are plans of windows of draws: items are draws, and every draw is in one window.
  std::vector<PlannedWindow> windows;
  /// Of epochs or windows that were planned one by one: the mean and the largest over all of them; 0 unless
  /// the strategy forms iterations. Not set: order_moves() of the packing.
  std::optional<OrderMoves> moves;
  PackUseCounts uses;               ///< how often the schedule trains each pack
  std::vector<SolveRecord> solves;  ///< the integer programs that were solved
  /// [n_items], loss tokens of each item as a schedule file gives them; empty: every token of an item has
  /// loss, except the first.
  std::vector<std::int32_t> loss_tokens;
  double packing_s = 0;     ///< time that packing took on this machine
  double scheduling_s = 0;  ///< time that making the schedule took on this machine
};

/// Packs and schedules with the groups that the strategy has or, if it chooses them, with the ones that its
/// own prices say are best. With spec.repack_each_epoch and more than one epoch, each epoch has packs of its
/// own (plan_each_epoch()). spec.searches_plan is not read; find_plan() searches.
///
/// known: packs and schedules of these lengths that need not be made again; may be null.
PlannedStrategy plan_strategy(const Scenario& scenario, const StrategySpec& spec,
                              std::span<const std::int32_t> lengths_tokens, ScenarioPricers& pricers,
                              PackCache* known = nullptr);
/// The same with pricers of its own.
PlannedStrategy plan_strategy(const Scenario& scenario, const StrategySpec& spec,
                              std::span<const std::int32_t> lengths_tokens);

/// The plan of a job on which no pack fits: its longest samples on as many GPUs as possible, with all layers
/// checkpointed, to show what is missing.
PlannedStrategy plan_what_does_not_fit(const Scenario& scenario, const StrategySpec& spec,
                                       std::span<const std::int32_t> lengths_tokens);

/// Schedules packs that were made without the strategy's own pack(). groups: [n_groups] of the packing.
PlannedStrategy schedule_packing(const Scenario& scenario, const StrategySpec& spec, Packing packing,
                                 std::vector<GroupSpec> groups);

PackRequest pack_request(const StrategySpec& spec, std::span<const GroupSpec> groups,
                         std::span<const std::int32_t> lengths_tokens);

/// Memory that the scenario's framework profile adds to states and activations.
MemoryAssumptions memory_assumptions(const Scenario& scenario);

/// Memory and parallel plan of one group, before anything is simulated. pack_tokens: of its largest pack,
/// padding included. n_micro_batches: of a DP rank in one iteration. base: the base_plan() of its strategy.
PlannedGroup plan_group(const Scenario& scenario, const ParallelPlan& base, const GroupSpec& group,
                        std::int64_t pack_tokens, int n_micro_batches);

/// Adds the micro-batches, unless they are there, the memory and the parallel plan of each group of
/// plan.packing.
///
/// groups: [n_groups]. n_micro_batches: [n_groups], of a DP rank in one iteration.
void set_groups(const Scenario& scenario, const StrategySpec& spec, std::span<const GroupSpec> groups,
                std::span<const int> n_micro_batches, PlannedStrategy& plan);

/// Fills in `uses` of a scheduled plan, unless they are there, and, for each of its groups, the numbers of
/// packs, DP ranks, micro-batches for each rank, and iterations.
void count_trained_groups(PlannedStrategy& plan);

/// Completes a plan that has a packing and a schedule: does what set_groups() and count_trained_groups() do.
/// groups: [n_groups].
void set_scheduled_groups(const Scenario& scenario, const StrategySpec& spec,
                          std::span<const GroupSpec> groups, PlannedStrategy& plan);

/// The most micro-batches that a GPU trains in an iteration.
int most_rounds(std::span<const PlacedPack> placed);

/// Number of GPUs to which packs are assigned. The GPUs of a tensor-parallel group and of all its pipeline
/// stages count as one.
int packed_gpus(const ParallelPlan& plan);

}  // namespace packsim
