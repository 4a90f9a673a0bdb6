#pragma once

#include <cstdint>
#include <vector>

#include "experiment/search/work_floors.hpp"
#include "models/parallel_plan.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// Packs of one length at one degree of sequences, with the fewest checkpointed layers with which full packs
/// fit in memory.
struct GroupOption {
  GroupSpec group;
  ParallelPlan plan = {};
  bool fits = true;
  /// Whether full packs make up an iteration of the size asked for.
  bool fills_iteration = false;
};

/// The degrees of sequences that a search tries: plans_of_degree() of every power of two.
std::vector<SequenceParallelism> sequence_options(const Scenario& scenario, const ParallelPlan& base);

/// The pack lengths that a search tries at each of these degrees: those of which 1, 2, 3, ... packs of every
/// rank make up an iteration, and the longest sample's.
std::vector<GroupOption> group_options(const Scenario& scenario, const ParallelPlan& base,
                                       std::int64_t longest_tokens);

/// A group with the fewest checkpointed layers with which full packs fit in memory.
GroupOption group_option(const Scenario& scenario, const ParallelPlan& base,
                         const SequenceParallelism& sequence, std::int64_t capacity_tokens);

}  // namespace packsim
