#pragma once

#include <numeric>
#include <vector>

#include "packing/algorithms/shuffle.hpp"
#include "packing/options/shared_options.hpp"
#include "packing/strategy.hpp"

namespace packsim {

/// The items 0 to n_items - 1 in data set order or, if the options ask for it, shuffled.
inline std::vector<ItemIndex> packing_order(std::size_t n_items, const OptionValues& options) {
  std::vector<ItemIndex> order(n_items);
  std::iota(order.begin(), order.end(), ItemIndex{0});
  if (options[kShuffle]) {
    Generator generator(static_cast<std::uint32_t>(options[kSeed]));
    shuffle(std::span(order), generator);
  }
  return order;
}

/// The items that a strategy packs. The shuffle is over all items, skipped ones included, as in the published
/// implementations.
inline std::vector<ItemIndex> packing_order(const PackProblem& problem) {
  std::vector<ItemIndex> order = packing_order(problem.lengths_tokens.size(), problem.options);
  std::erase_if(order, [&](ItemIndex item) { return problem.skips(problem.lengths_tokens[item]); });
  return order;
}

}  // namespace packsim
