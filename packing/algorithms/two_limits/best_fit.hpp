#pragma once

#include <cstdint>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "packing/algorithms/first_fit_tree.hpp"
#include "packing/algorithms/placements.hpp"
#include "packing/strategy.hpp"

namespace packsim {

/// Best fit by tokens among the packs that have room for both: the least room in tokens that is enough and,
/// of packs with as much, the one with most room for extra sizes, and of those the newest.
class TwoLimitBestFit {
 public:
  TwoLimitBestFit(const PackProblem& problem, std::size_t n_items, std::uint32_t most_items);

  void place(ItemIndex item);
  PackSet finish(const std::vector<ItemIndex>& items) && { return std::move(placements_).finish(items); }

 private:
  struct Room {
    std::int64_t tokens = 0;
    std::int32_t extra = 0;
    std::uint32_t pack = 0;
  };

  Room take(std::int32_t tokens, std::int32_t extra);
  void give_back(const Room& room);

  const PackProblem& problem_;
  std::uint32_t most_items_;
  FirstFitTree
      most_extra_;  // [capacity + 1]: the most room for extra sizes of packs with so many tokens of room
  std::unordered_map<std::int64_t, std::priority_queue<std::pair<std::int32_t, std::uint32_t>>> packs_;
  Placements placements_;
};

}  // namespace packsim
