#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/planner/degree_costs.hpp"
#include "packing/planner/item_costs.hpp"

namespace packsim {

/// A block of neighbouring GPUs of some degree, and what it trains.
struct PlannerBlock {
  std::vector<ItemRank> items;
  std::size_t n_packs = 0;     ///< that the items are split into
  std::vector<double> pack_s;  ///< of those with items
  double time_s = 0;
};

/// Divides the items of a block into packs.
class BlockPacker {
 public:
  /// Both are kept by reference.
  BlockPacker(const DegreeCosts& costs, ItemCosts& items) : costs_(costs), items_(items) {}

  /// Sorts the block's items and divides them into the number of packs that takes the least time.
  void pack(std::size_t degree, PlannerBlock& block);
  /// The items of each pack of a block that pack() has divided.
  std::vector<std::vector<ItemIndex>> packs(std::size_t degree, const PlannerBlock& block);

 private:
  struct PackSum {
    std::int32_t longest_tokens = 0;
    std::uint32_t n_items = 0;
    std::size_t group = 0;
    double documents_s = 0;
  };

  bool split(std::size_t degree, std::span<const ItemRank> items, std::size_t n_packs);
  double time_packs(std::size_t degree, std::span<const ItemRank> items);

  const DegreeCosts& costs_;
  ItemCosts& items_;
  // The latest split() left these: the pack of each item, and what each pack holds.
  std::vector<std::uint32_t> pack_of_;
  std::vector<std::int64_t> tokens_;
  std::vector<PackSum> sums_;
  std::vector<double> pack_s_;
};

}  // namespace packsim
