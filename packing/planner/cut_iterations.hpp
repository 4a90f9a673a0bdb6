#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/batch_problem.hpp"
#include "packing/planner/degree_costs.hpp"

namespace packsim {

struct IterationCuts {
  int n_gpus = 1;
  std::int64_t tokens_per_iteration = 0;
  /// Iterations are formed in windows of this many, and samples stay in their window; 0: one window for the
  /// whole data.
  std::int64_t window_iterations = 0;
  /// The shape of the rounds if all GPUs synchronise in every round, else null. If set, an item is long if,
  /// at the smallest degree, it alone takes longer than 0.8 of the mean round.
  const RoundShape* rounds = nullptr;
};

/// Divides items into iterations of at most tokens_per_iteration tokens each, in the order in which they are
/// to be trained. An item with more tokens gets an iteration of its own.
///
/// Items stay in their order, except long ones: those that would take their GPUs longer than 0.9 of the time
/// that all GPUs take for an iteration's work. Long items are collected in iterations with others of about
/// the same length, as many as leave the least time that no other item can fill. Such an iteration is trained
/// at the place of the first of its long items. An item that does not fit into what is left of its iteration
/// waits for the next one.
///
/// order: the items to be trained, shuffled.
std::vector<std::vector<ItemIndex>> cut_iterations(const DegreeCosts& costs,
                                                   std::span<const std::int32_t> lengths_tokens,
                                                   std::span<const ItemIndex> order,
                                                   const IterationCuts& cuts);

}  // namespace packsim
