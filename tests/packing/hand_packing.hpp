#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "packing/pack.hpp"

namespace packsim::testing {

using Packs = std::vector<std::vector<ItemIndex>>;
using PackLengths = std::vector<std::vector<std::int32_t>>;

inline Packs packs_of(const PackSet& packs) {
  Packs result;
  for (std::size_t p = 0; p < packs.n_packs(); ++p) result.emplace_back(packs[p].begin(), packs[p].end());
  return result;
}

inline PackLengths lengths_of(const Packing& packing, std::size_t group = 0) {
  PackLengths result;
  for (const auto& pack : packs_of(packing.groups[group])) {
    result.emplace_back();
    for (const ItemIndex item : pack) result.back().push_back(packing.lengths_tokens[item]);
  }
  return result;
}

/// A packing written down by hand: items are numbered in the order in which their lengths are given.
///
/// groups: [n_groups][n_packs][n_items] lengths.
inline Packing hand_packing(std::string_view strategy, std::vector<std::int64_t> capacities_tokens,
                            const std::vector<PackLengths>& groups) {
  Packing packing;
  packing.strategy = find_strategy(strategy);
  packing.capacities_tokens = std::move(capacities_tokens);
  for (const PackLengths& group : groups) {
    PackSet packs;
    for (const auto& pack : group) {
      for (const std::int32_t length : pack) {
        packs.items.push_back(static_cast<ItemIndex>(packing.cut_lengths_tokens.size()));
        packing.cut_lengths_tokens.push_back(length);
      }
      packs.close_pack();
    }
    packing.groups.push_back(packs);
  }
  packing.lengths_tokens = packing.cut_lengths_tokens;
  return packing;
}

}  // namespace packsim::testing
