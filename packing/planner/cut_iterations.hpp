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
  /// So many iterations at a time are looked at, and samples stay within them; 0: all.
  std::int64_t window_iterations = 0;
  /// Not null: all GPUs meet in every round, of this shape. Items that need several GPUs in a round are long
  /// ones too, as GPUs of a block have nothing else in its round.
  const RoundShape* rounds = nullptr;
};

/// Items into iterations of at most tokens_per_iteration tokens (one that is longer is alone), in the order
/// in which they are to be trained.
///
/// Items stay in their order, but for the long ones: those that would keep their GPUs busy for longer than an
/// iteration's work takes all GPUs. They are collected in iterations with others of about their length, as
/// many as leave the least time that no other item could fill, near where the first of them was. An item that
/// does not fit into what is left of its iteration waits for the next one.
///
/// order: the items to be trained, shuffled.
std::vector<std::vector<ItemIndex>> cut_iterations(const DegreeCosts& costs,
                                                   std::span<const std::int32_t> lengths_tokens,
                                                   std::span<const ItemIndex> order,
                                                   const IterationCuts& cuts);

}  // namespace packsim
