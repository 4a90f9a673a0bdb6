#pragma once

#include <numeric>
#include <vector>

#include "packing/shuffle.hpp"
#include "packing/strategy.hpp"

namespace packsim {

/// The items that a strategy packs, in data set order or, where the options ask for it, shuffled. The shuffle
/// is over all items, skipped ones included, as the published implementations do it.
inline std::vector<ItemIndex> packing_order(const PackProblem& problem) {
  std::vector<ItemIndex> order(problem.lengths_tokens.size());
  std::iota(order.begin(), order.end(), ItemIndex{0});
  if (problem.options.shuffle) {
    Generator generator(problem.options.seed);
    shuffle(std::span(order), generator);
  }
  std::erase_if(order, [&](ItemIndex item) { return problem.skips(problem.lengths_tokens[item]); });
  return order;
}

}  // namespace packsim
