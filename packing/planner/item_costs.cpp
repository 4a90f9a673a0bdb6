#include "packing/planner/item_costs.hpp"

#include <algorithm>
#include <limits>

#include "packing/algorithms/never.hpp"

namespace packsim {

ItemCosts::ItemCosts(const DegreeCosts& costs, std::span<const std::int32_t> lengths_tokens,
                     std::span<const ItemIndex> items)
    : costs_(costs), document_s_(costs.n_groups()) {
  sort(lengths_tokens, items);
  cheapest_.resize(n_items());
  share_s_.resize(costs.n_degrees() * n_items());
  for (ItemRank rank = 0; rank < n_items(); ++rank) {
    const std::span<const DegreeCosts::LengthCost> by_degree = costs.of_length(lengths_[rank]);
    cheapest_[rank] = cheapest(by_degree, kNever);
    for (std::size_t d = 0; d < by_degree.size(); ++d) share_s_[d * n_items() + rank] = by_degree[d].share_s;
  }
}

void ItemCosts::sort(std::span<const std::int32_t> lengths_tokens, std::span<const ItemIndex> items) {
  struct Key {
    std::uint64_t shortness_and_item = 0;
    std::uint32_t position = 0;
  };
  std::vector<Key> keys(items.size());
  for (std::uint32_t i = 0; i < keys.size(); ++i) {
    const auto shortness =
        static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max() - lengths_tokens[items[i]]);
    keys[i] = {shortness << 32U | items[i], i};
  }
  std::ranges::sort(keys, {}, &Key::shortness_and_item);
  items_.resize(keys.size());
  lengths_.resize(keys.size());
  order_.resize(keys.size());
  for (ItemRank rank = 0; rank < keys.size(); ++rank) {
    items_[rank] = items[keys[rank].position];
    lengths_[rank] = lengths_tokens[items_[rank]];
    order_[keys[rank].position] = rank;
  }
}

ItemCosts::Cheapest ItemCosts::cheapest(std::span<const DegreeCosts::LengthCost> by_degree,
                                        double goal_s) const {
  Cheapest best{.gpu_s = kNever};
  Cheapest fastest{.gpu_s = kNever, .alone_s = kNever};
  for (std::size_t d = 0; d < by_degree.size(); ++d) {
    const double alone_s = by_degree[d].alone_s;
    const double gpu_s = costs_.gpus_per_pack(d) * by_degree[d].share_s;
    if (alone_s < fastest.alone_s) fastest = {gpu_s, alone_s, d};
    if (alone_s <= goal_s && gpu_s < best.gpu_s) best = {gpu_s, alone_s, d};
  }
  return best.gpu_s < kNever ? best : fastest;
}

std::size_t ItemCosts::cheapest_degree(ItemRank rank, double goal_s) const {
  const Cheapest& of_all = cheapest_[rank];
  return of_all.alone_s <= goal_s ? of_all.degree : cheapest(costs_.of_length(lengths_[rank]), goal_s).degree;
}

double ItemCosts::even_s(int n_gpus) const {
  double gpu_s = 0;
  for (const ItemRank rank : order_) gpu_s += cheapest_[rank].gpu_s;
  return gpu_s / n_gpus;
}

}  // namespace packsim
