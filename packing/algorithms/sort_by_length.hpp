#pragma once

#include <vector>

#include "packing/strategy.hpp"

namespace packsim {

/// Items of equal length, neighbours in LengthOrder::items.
struct LengthRun {
  std::int32_t length_tokens = 0;
  std::uint32_t first = 0;  ///< position in LengthOrder::items
  std::uint32_t count = 0;
};

/// The items that a strategy packs (those that the problem does not skip), sorted by length; equal lengths
/// keep data set order.
struct LengthOrder {
  std::vector<ItemIndex> items;
  std::vector<LengthRun> runs;
};

/// Longest first.
LengthOrder longest_first(const PackProblem& problem);

/// Shortest first.
LengthOrder shortest_first(const PackProblem& problem);

}  // namespace packsim
