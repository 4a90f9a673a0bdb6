#include "packing/planner/block_packer.hpp"

#include <algorithm>
#include <utility>

namespace packsim {

void BlockPacker::pack(std::size_t degree, PlannerBlock& block) {
  block.n_packs = 0;
  block.pack_s.clear();
  block.time_s = 0;
  if (block.items.empty()) return;
  if (!std::ranges::is_sorted(block.items)) std::ranges::sort(block.items);
  std::int64_t tokens = 0;
  for (const ItemRank rank : block.items) tokens += items_.length_tokens(rank);
  const std::int64_t best = costs_.best_tokens(degree);
  const std::int64_t most = costs_.most_tokens(degree);
  const auto middle = static_cast<std::size_t>((tokens + best - 1) / best);
  const std::size_t fewest = std::min(middle > 2 ? middle - 2 : 1, block.items.size());
  for (std::size_t n = fewest; n <= block.items.size(); ++n) {
    if (tokens <= static_cast<std::int64_t>(n) * most && split(degree, block.items, n)) {
      const double time_s = time_packs(degree, block.items);
      if (block.n_packs == 0 || time_s < block.time_s) {
        block.n_packs = n;
        block.time_s = time_s;
        std::swap(block.pack_s, pack_s_);
      }
    }
    if (block.n_packs > 0 && n > middle) break;
  }
}

std::vector<std::vector<ItemIndex>> BlockPacker::packs(std::size_t degree, const PlannerBlock& block) {
  std::vector<std::vector<ItemIndex>> packs(block.n_packs);
  if (block.n_packs == 0) return packs;
  split(degree, block.items, block.n_packs);
  for (std::size_t p = 0; p < packs.size(); ++p) packs[p].reserve(sums_[p].n_items);
  for (std::size_t i = 0; i < block.items.size(); ++i)
    packs[pack_of_[i]].push_back(items_.item(block.items[i]));
  std::erase_if(packs, [](const auto& pack) { return pack.empty(); });
  return packs;
}

// Puts each item, longest first, into the pack with the fewest tokens. Returns false if one gets too long.
bool BlockPacker::split(std::size_t degree, std::span<const ItemRank> items, std::size_t n_packs) {
  tokens_.assign(n_packs, 0);
  sums_.assign(n_packs, {});
  pack_of_.resize(items.size());
  const std::int64_t most_tokens = costs_.most_tokens(degree);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto emptiest = static_cast<std::size_t>(std::ranges::min_element(tokens_) - tokens_.begin());
    const std::int32_t length = items_.length_tokens(items[i]);
    pack_of_[i] = static_cast<std::uint32_t>(emptiest);
    tokens_[emptiest] += length;
    PackSum& sum = sums_[emptiest];
    sum.longest_tokens = std::max(sum.longest_tokens, length);
    ++sum.n_items;
    if (tokens_[emptiest] > most_tokens) return false;
  }
  return true;
}

// The time of all packs of the latest split, which was of these items. Sets pack_s_ to the time of each.
double BlockPacker::time_packs(std::size_t degree, std::span<const ItemRank> items) {
  for (std::size_t p = 0; p < sums_.size(); ++p) sums_[p].group = costs_.group_of(degree, tokens_[p]);
  for (std::size_t i = 0; i < items.size(); ++i) {
    PackSum& sum = sums_[pack_of_[i]];
    sum.documents_s += items_.document_s(sum.group, items[i]);
  }
  double time_s = 0;
  pack_s_.clear();
  for (std::size_t p = 0; p < sums_.size(); ++p) {
    const PackSum& sum = sums_[p];
    if (sum.n_items == 0) continue;
    pack_s_.push_back(costs_.pack_s(sum.group, tokens_[p], sum.documents_s, sum.longest_tokens));
    time_s += pack_s_.back();
  }
  return time_s;
}

}  // namespace packsim
