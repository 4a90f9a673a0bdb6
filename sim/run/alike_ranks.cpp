#include "sim/run/alike_ranks.hpp"

#include <algorithm>
#include <compare>
#include <numeric>
#include <tuple>

namespace packsim {
namespace {

auto key_of(const RingPrice& ring) {
  return std::tuple(ring.steps, ring.compute_ns, ring.transfer_ns, ring.bytes, ring.stride);
}

// Token counts of one pricer are equal where their address is; addresses are compared for being equal alone.
auto key_of(const MicroBatchPrice& price) {
  return std::tuple(price.tokens->embedding_forward.total_ns, price.tokens->layers[0].forward.total_ns,
                    price.tokens->layers[1].forward.total_ns, price.stage_transfer_bytes,
                    price.stage_transfer_ns, price.stage_transfer_in_node_ns, price.overhead_ns,
                    key_of(price.attention_forward), key_of(price.attention_backward));
}

}  // namespace

std::vector<std::uint32_t> price_classes(std::span<const MicroBatchPrice> prices) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < prices.size(); ++i) {
    if (prices[i].tokens != nullptr) order.push_back(i);
  }
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    const auto key_a = key_of(prices[a]);
    const auto key_b = key_of(prices[b]);
    return key_a != key_b ? key_a < key_b : a < b;
  });
  std::vector<std::uint32_t> classes(prices.size());
  std::uint32_t n_classes = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i > 0) {
      const MicroBatchPrice& before = prices[order[i - 1]];
      const MicroBatchPrice& price = prices[order[i]];
      if (price.tokens != before.tokens || key_of(price) != key_of(before)) ++n_classes;
    }
    classes[order[i]] = n_classes;
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
