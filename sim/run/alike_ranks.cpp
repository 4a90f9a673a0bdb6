#include "sim/run/alike_ranks.hpp"

#include <algorithm>
#include <compare>
#include <functional>
#include <numeric>
#include <unordered_map>

namespace packsim {
namespace {

bool is_same(const RingPrice& a, const RingPrice& b) {
  return a.steps == b.steps && a.compute_ns == b.compute_ns && a.windowed_ns == b.windowed_ns &&
         a.transfer_ns == b.transfer_ns && a.copies_ns == b.copies_ns && a.bytes == b.bytes &&
         a.stride == b.stride;
}

// Prices by one pricer share their TokenPrices if they have the same number of tokens.
struct IsSamePrice {
  bool operator()(const MicroBatchPrice* a, const MicroBatchPrice* b) const {
    return a->tokens == b->tokens && is_same(a->attention_forward, b->attention_forward) &&
           is_same(a->attention_backward, b->attention_backward) && a->overhead_ns == b->overhead_ns &&
           a->stage_transfer_bytes == b->stage_transfer_bytes &&
           a->stage_transfer_ns == b->stage_transfer_ns &&
           a->stage_transfer_in_node_ns == b->stage_transfer_in_node_ns && a->added == b->added;
  }
};

// Prices of equally many tokens differ in attention.
struct PriceHash {
  std::size_t operator()(const MicroBatchPrice* price) const {
    constexpr std::size_t kOdd = 0x9E3779B97F4A7C15;
    std::size_t hash = std::hash<const TokenPrices*>()(price->tokens);
    hash = hash * kOdd + static_cast<std::size_t>(price->attention_forward.compute_ns);
    hash = hash * kOdd + static_cast<std::size_t>(price->attention_backward.compute_ns);
    return hash ^ (hash >> 32U);
  }
};

}  // namespace

std::vector<std::uint32_t> price_classes(std::span<const MicroBatchPrice> prices) {
  std::unordered_map<const MicroBatchPrice*, std::uint32_t, PriceHash, IsSamePrice> class_of;
  class_of.reserve(prices.size());
  std::vector<std::uint32_t> classes(prices.size());
  for (std::size_t i = 0; i < prices.size(); ++i) {
    if (prices[i].tokens == nullptr) continue;
    classes[i] = class_of.try_emplace(&prices[i], static_cast<std::uint32_t>(class_of.size())).first->second;
  }
  return classes;
}

void find_alike(const RankKinds& ranks, std::size_t block, AlikeRanks& alike) {
  // Blocks in the order of what their ranks train.
  const auto compare = [&](std::size_t a, std::size_t b) {
    for (std::size_t r = 0; r < block; ++r) {
      const auto of_a = ranks.of(a * block + r);
      const auto of_b = ranks.of(b * block + r);
      const auto order =
          std::lexicographical_compare_three_way(of_a.begin(), of_a.end(), of_b.begin(), of_b.end());
      if (order != 0) return order;
    }
    return std::strong_ordering::equal;
  };
  std::vector<std::size_t>& order = alike.order;
  order.resize(ranks.n_ranks() / block);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    const auto by_work = compare(a, b);
    return by_work != 0 ? by_work < 0 : a < b;
  });
  alike.kinds.clear();
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || compare(order[i - 1], order[i]) != 0) alike.kinds.push_back({order[i], 0});
    ++alike.kinds.back().n_blocks;
  }
  std::ranges::sort(alike.kinds, {}, &AlikeRanks::Kind::first_block);
}

}  // namespace packsim
