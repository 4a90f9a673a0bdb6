#include "experiment/plans/new_packs.hpp"

#include <algorithm>
#include <compare>
#include <vector>

namespace packsim {
namespace {

struct HeldItems {
  std::span<const ItemIndex> items;  // ascending
  std::size_t epoch = 0;
};

// The same packs, each with its items in ascending order.
PackSet with_sorted_items(PackSet packs) {
  for (std::size_t p = 0; p < packs.n_packs(); ++p)
    std::sort(packs.items.begin() + packs.offsets[p], packs.items.begin() + packs.offsets[p + 1]);
  return packs;
}

bool is_before(const HeldItems& one, const HeldItems& other) {
  const auto order = std::lexicographical_compare_three_way(one.items.begin(), one.items.end(),
                                                            other.items.begin(), other.items.end());
  return order != 0 ? order < 0 : one.epoch < other.epoch;
}

}  // namespace

Repacking count_new_packs(std::span<const Packing* const> epochs) {
  std::vector<PackSet> sorted;
  std::vector<HeldItems> packs;
  Repacking counts;
  for (std::size_t epoch = 0; epoch < epochs.size(); ++epoch) {
    for (const PackSet& group : epochs[epoch]->groups) {
      // Spans stay valid where `sorted` grows: its elements are moved.
      const PackSet& own = sorted.emplace_back(with_sorted_items(group));
      for (std::size_t p = 0; p < own.n_packs(); ++p) packs.push_back({own[p], epoch});
      if (epoch > 0) counts.later_packs += static_cast<std::int64_t>(own.n_packs());
    }
  }
  std::ranges::sort(packs, is_before);
  for (std::size_t i = 0; i < packs.size(); ++i) {
    const bool is_first = i == 0 || !std::ranges::equal(packs[i - 1].items, packs[i].items);
    if (is_first && packs[i].epoch > 0) ++counts.new_packs;
  }
  return counts;
}

}  // namespace packsim
