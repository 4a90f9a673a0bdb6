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

/// One way to run a pack.
struct BatchGroup {
  std::int64_t capacity_tokens = 0;  ///< of a pack
  int gpus_per_pack = 1;             ///< GPUs that share it
  PackCost cost = {};                ///< empty where nobody has priced it
};

/// How packs follow each other in a step, a round being one pack of every GPU.
struct RoundShape {
  double fill_rounds = 0;  ///< what filling and draining a pipeline takes, in mean rounds
  /// An interleaved pipeline's iteration has a multiple of so many rounds, and all GPUs a pack in each of
  /// them; with 1, GPUs may be done earlier than others.
  int multiple = 1;
};

/// Where a batch runs, for strategies that form whole iterations.
struct BatchSetting {
  std::vector<BatchGroup> groups;  ///< ascending capacity
  int n_gpus = 1;
  std::int64_t tokens_per_iteration = 0;
  /// All GPUs meet in every round, as ZeRO 2 and 3 make them; else at the end of an iteration.
  bool rounds_in_step = false;
  /// Pipelines and experts tie ranks together: the packs of an iteration have one SP degree. Read by the
  /// planner, as is what follows.
  bool one_degree = false;
  bool one_group_in_round = false;  ///< ranks share experts, which meet in recomputed layers too
  RoundShape rounds = {};
  double step_s = 0;                   ///< that an iteration takes beside its packs; read by the planner
  AssignmentSolver* solver = nullptr;  ///< flexsp: what solves its integer programs
};

/// What a strategy that forms whole iterations is given.
struct BatchProblem {
  PackProblem items;  ///< their capacity is that of the last group
  const BatchSetting& setting;
};

/// What it returns: packs by group, every one of them placed once.
struct BatchPlan : PlannedIterations {
  std::vector<PackSet> groups;  ///< [n_groups]
};

}  // namespace packsim
