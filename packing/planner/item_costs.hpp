#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/planner/degree_costs.hpp"

namespace packsim {

/// An item of an iteration, by its place in the order of packing: longest first, then by index.
using ItemRank = std::uint32_t;

/// What is asked about an iteration's items again and again, side by side.
class ItemCosts {
 public:
  /// costs: kept by reference.
  ItemCosts(const DegreeCosts& costs, std::span<const std::int32_t> lengths_tokens,
            std::span<const ItemIndex> items);

  std::size_t n_items() const { return items_.size(); }
  /// The ranks of the items in the order in which they were given.
  std::span<const ItemRank> order() const { return order_; }
  ItemIndex item(ItemRank rank) const { return items_[rank]; }
  std::int32_t length_tokens(ItemRank rank) const { return lengths_[rank]; }
  /// share_s() and document_s() are those of DegreeCosts.
  double share_s(std::size_t degree, ItemRank rank) const { return share_s_[degree * n_items() + rank]; }
  double document_s(std::size_t group, ItemRank rank) {
    std::vector<double>& of_group = document_s_[group];
    if (of_group.empty()) of_group.resize(n_items(), -1);
    if (of_group[rank] < 0) of_group[rank] = costs_.document_s(group, lengths_[rank]);
    return of_group[rank];
  }

  /// The degree that takes the least GPU time, of those at which the item alone takes at most goal_s; the
  /// fastest degree if there is none.
  std::size_t cheapest_degree(ItemRank rank, double goal_s) const;
  /// Time that the items would take on all GPUs, as even_time_s() has it.
  double even_s(int n_gpus) const;

 private:
  // The degree at which an item takes the least GPU time.
  struct Cheapest {
    double gpu_s = 0;
    double alone_s = 0;
    std::size_t degree = 0;
  };
  void sort(std::span<const std::int32_t> lengths_tokens, std::span<const ItemIndex> items);
  Cheapest cheapest(std::span<const DegreeCosts::LengthCost> by_degree, double goal_s) const;

  const DegreeCosts& costs_;
  std::vector<ItemIndex> items_;       // by rank
  std::vector<std::int32_t> lengths_;  // [n_items]
  std::vector<ItemRank> order_;
  std::vector<Cheapest> cheapest_;               // [n_items], of all degrees
  std::vector<double> share_s_;                  // [n_degrees * n_items]
  std::vector<std::vector<double>> document_s_;  // [n_groups][n_items]; below 0 or empty: not asked for yet
};

}  // namespace packsim
