#pragma once

#include <span>
#include <vector>

#include "experiment/results/report.hpp"
#include "packing/pack.hpp"
#include "packing/schedule/schedule.hpp"
#include "planning/solver/cbc_assignment_solver.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// The micro-batches of each group: [n_groups][n_packs of the group].
using GroupBatches = std::vector<std::vector<MicroBatch>>;

/// A strategy's packs and schedule on a scenario's data, before anything is priced.
struct PlannedStrategy {
  Packing packing;
  GroupBatches batches;
  std::vector<ParallelPlan> plans;   ///< [n_groups]
  std::vector<PlannedGroup> groups;  ///< degrees, checkpointing, memory and iterations
  Schedule schedule;
  std::vector<SolveRecord> solves;  ///< of integer programs
  /// [n_items] as a plan file says; empty: all tokens but the first of each.
  std::vector<std::int32_t> loss_tokens;
  double packing_s = 0;     ///< it took to pack
  double scheduling_s = 0;  ///< and to make the schedule
};

PlannedStrategy plan_strategy(const Scenario& scenario, const StrategySpec& spec,
                              std::span<const std::int32_t> lengths_tokens);

PackRequest pack_request(const StrategySpec& spec, std::span<const GroupSpec> groups,
                         std::span<const std::int32_t> lengths_tokens);

/// Memory and plan of one group, before anything is simulated. pack_tokens: of its largest pack, padding
/// included. n_micro_batches: of a rank in one iteration.
PlannedGroup plan_group(const Scenario& scenario, const GroupSpec& group, std::int64_t pack_tokens,
                        int n_micro_batches);

/// Adds the micro-batches, the memory and the parallel plan of each group of plan.packing.
///
/// groups, n_micro_batches (of a rank in one iteration): [n_groups].
void set_groups(const Scenario& scenario, std::span<const GroupSpec> groups,
                std::span<const int> n_micro_batches, Padding padding, std::int64_t pad_multiple_tokens,
                PlannedStrategy& plan);

/// Fills in what the groups of a scheduled plan are trained in.
void count_trained_groups(PlannedStrategy& plan);

/// Most micro-batches that a GPU trains in an iteration.
int most_rounds(std::span<const PlacedPack> placed);

/// GPUs that packs are dealt out to, over tensor-parallel groups and pipelines: those count as one.
int packed_gpus(const Scenario& scenario);

}  // namespace packsim
