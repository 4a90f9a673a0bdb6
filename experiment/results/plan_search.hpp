#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/parallel_plan.hpp"
#include "packing/sequence_parallelism.hpp"

namespace packsim {

/// A group of a plan that a search has simulated.
struct SearchedGroup {
  std::int64_t capacity_tokens = 0;
  SequenceParallelism sequence = {};
  int gc_layers = 0;

  bool operator==(const SearchedGroup&) const = default;
};

/// The whole parallel plan of a group. plan: SearchedPlan::plan.
inline ParallelPlan plan_of_group(ParallelPlan plan, const SearchedGroup& group) {
  plan.sequence = group.sequence;
  plan.gc_layers = group.gc_layers;
  return plan;
}

/// A plan that a search has simulated, and what the run would take with it.
struct SearchedPlan {
  std::string strategy;               ///< whose packs they are: another one's only if the planner chose it
  ParallelPlan plan;                  ///< without what the groups say
  std::vector<SearchedGroup> groups;  ///< groups that have packs
  double gpu_days = 0;  ///< of the whole run, estimated if only a part of the data was simulated
  /// False if it loses more tokens than it must, or its iterations are not of the size asked for: then its
  /// GPU-days are of another job.
  bool trains_asked_job = true;
};

/// What the search for a strategy's plan has tried, and what it found (docs/search.md).
struct PlanSearch {
  std::int64_t n_candidates = 0;  ///< plans that the model and the cluster allow
  std::int64_t n_too_large = 0;   ///< of these, plans that do not fit in memory
  std::int64_t n_ruled_out = 0;   ///< plans that cannot be faster than another one, by their packs alone
  /// Base plans (ZeRO stages, tensor, pipeline and expert parallelism) none of whose plans can be faster;
  /// their plans are not among the candidates.
  std::int64_t n_bases_ruled_out = 0;
  /// Plans and base plans that were not looked at, as many in a row of lower floors were no better
  /// (Patience), or the search had taken as long as it may.
  std::int64_t n_given_up = 0;
  std::int64_t n_bases_given_up = 0;
  bool is_cut_short = false;  ///< whether it had taken as long as it may
  std::int64_t n_simulated = 0;
  /// Tokens of the samples with which the best plans were simulated; the data set's own number if it is
  /// small.
  std::int64_t tried_tokens = 0;
  SearchedPlan chosen;
  std::optional<SearchedPlan> runner_up = {};
  /// The plan that a framework's documentation leads to; none if it does not fit.
  std::optional<SearchedPlan> usual = {};
  /// Where the chosen plan keeps weights, gradients or optimizer states in host memory: the best plan of
  /// those that may fit without as much free memory, if it is clearly faster.
  std::optional<SearchedPlan> may_fit = {};

  /// Counts plans that fit in memory, and others.
  void count(std::size_t n_that_fit, std::int64_t n_others) {
    n_candidates += static_cast<std::int64_t>(n_that_fit) + n_others;
    n_too_large += n_others;
  }
};

}  // namespace packsim
