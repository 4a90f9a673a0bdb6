#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/pack_cost.hpp"
#include "packing/pack_set.hpp"
#include "packing/placed_pack.hpp"
#include "packing/strategy.hpp"

namespace packsim {

class AssignmentSolver;

/// A pack length, and how packs of that length run.
struct BatchGroup {
  std::int64_t capacity_tokens = 0;  ///< pack length
  int gpus_per_pack = 1;             ///< GPUs that share a pack
  PackCost cost = {};                ///< empty if it has not been priced
};

/// How rounds follow each other in a step. In a round every GPU trains at most one pack.
struct RoundShape {
  /// Time that filling and draining the pipeline takes, in units of the mean round.
  double fill_rounds = 0;
  /// The number of rounds must be a multiple of this. Above 1, as for interleaved pipelines, every GPU must
  /// have a pack in every round; with 1, some GPUs may finish earlier than others.
  int multiple = 1;
};

/// The cluster and groups on which a batch runs, for strategies that form whole iterations.
struct BatchSetting {
  std::vector<BatchGroup> groups;  ///< in ascending order of capacity
  int n_gpus = 1;
  std::int64_t tokens_per_iteration = 0;
  /// True if all GPUs synchronise in every round, as under ZeRO 2 and 3 and with expert parallelism.
  /// Otherwise they synchronise only at the end of an iteration.
  bool rounds_in_step = false;
  /// True if all packs of an iteration must have the same SP degree, as with pipeline and expert parallelism.
  /// Only the planner reads this and the members up to step_s.
  bool one_degree = false;
  /// All packs of a round must be of one group: ranks that share experts also synchronise when layers are
  /// recomputed, so they must checkpoint the same layers.
  bool one_group_in_round = false;
  RoundShape rounds = {};
  double step_s = 0;                   ///< time that an iteration takes in addition to its packs
  /// Time of what a GPU sends beside the forward pass of its first pack and the backward pass of its last. If
  /// these are shorter, the iteration takes the difference longer.
  double hidden_s = 0;
  AssignmentSolver* solver = nullptr;  ///< solves the integer programs of strategy flexsp
};

/// The input of a strategy that forms whole iterations.
struct BatchProblem {
  PackProblem items;  ///< items.capacity_tokens is the capacity of the last group
  const BatchSetting& setting;
};

/// The output of a strategy that forms whole iterations: the packs of each group, and where each pack is
/// trained.
struct BatchPlan : PlannedIterations {
  std::vector<PackSet> groups;  ///< [n_groups]
};

}  // namespace packsim
