#include "packing/flexsp/chunks.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace packsim::flexsp {
namespace {

// Tokens of [begin, end) are sums[end] - sums[begin]. ends: of each run.
std::vector<std::size_t> cut_evenly(const std::vector<std::int64_t>& sums, std::size_t n_chunks) {
  const std::size_t n = sums.size() - 1;
  std::vector<std::int64_t> largest = sums;  // of the first i items in one chunk
  std::vector<std::int64_t> next(n + 1);
  std::vector<std::vector<std::size_t>> starts(n_chunks, std::vector<std::size_t>(n + 1, 0));
  for (std::size_t k = 2; k <= n_chunks; ++k) {
    for (std::size_t i = k; i <= n; ++i) {
      const auto tokens_from = [&](std::size_t start) { return sums[i] - sums[start]; };
      const auto first_where = [&](auto holds) {
        const auto starts_range = std::ranges::subrange(sums.begin() + k - 1, sums.begin() + i - 1);
        const auto found = std::ranges::partition_point(
            starts_range, [&](const std::int64_t& sum) { return !holds(&sum - sums.data()); });
        return static_cast<std::size_t>(found - sums.begin());
      };
      const std::size_t crossing =
          first_where([&](std::ptrdiff_t start) { return largest[start] >= tokens_from(start); });
      std::int64_t best = std::max(largest[crossing], tokens_from(crossing));
      if (crossing > k - 1) best = std::min(best, tokens_from(crossing - 1));
      next[i] = best;
      starts[k - 1][i] = first_where([&](std::ptrdiff_t start) { return tokens_from(start) <= best; });
    }
    largest = next;
  }
  std::vector<std::size_t> ends(n_chunks);
  std::size_t end = n;
  for (std::size_t k = n_chunks; k-- > 0;) {
    ends[k] = end;
    end = starts[k][end];
  }
  return ends;
}

std::vector<ItemIndex> in_order(std::span<const std::int32_t> lengths, std::span<const ItemIndex> items,
                                ChunkOrder order) {
  std::vector<ItemIndex> ordered(items.begin(), items.end());
  if (order == ChunkOrder::sorted) {
    std::ranges::stable_sort(ordered, std::ranges::greater(), [&](ItemIndex item) { return lengths[item]; });
  }
  return ordered;
}

std::vector<std::int64_t> running_sums(std::span<const std::int32_t> lengths,
                                       std::span<const ItemIndex> items) {
  std::vector<std::int64_t> sums(items.size() + 1, 0);
  for (std::size_t i = 0; i < items.size(); ++i) sums[i + 1] = sums[i] + lengths[items[i]];
  return sums;
}

}  // namespace

std::vector<std::vector<ItemIndex>> chunks(std::span<const std::int32_t> lengths_tokens,
                                           std::span<const ItemIndex> items, std::size_t n_chunks,
                                           ChunkOrder order) {
  if (n_chunks < 1 || n_chunks > items.size()) {
    throw std::invalid_argument("n_chunks: expected 1.." + std::to_string(items.size()) + ", got " +
                                std::to_string(n_chunks));
  }
  const std::vector<ItemIndex> ordered = in_order(lengths_tokens, items, order);
  std::vector<std::vector<ItemIndex>> result;
  std::size_t begin = 0;
  for (const std::size_t end : cut_evenly(running_sums(lengths_tokens, ordered), n_chunks)) {
    result.emplace_back(ordered.begin() + static_cast<std::ptrdiff_t>(begin),
                        ordered.begin() + static_cast<std::ptrdiff_t>(end));
    begin = end;
  }
  return result;
}

std::size_t fewest_chunks(std::span<const std::int32_t> lengths_tokens, std::span<const ItemIndex> items,
                          std::int64_t cluster_capacity_tokens, ChunkOrder order) {
  const std::vector<std::int64_t> sums = running_sums(lengths_tokens, in_order(lengths_tokens, items, order));
  const auto needed = static_cast<std::size_t>((sums.back() + cluster_capacity_tokens - 1) /
                                               std::max<std::int64_t>(1, cluster_capacity_tokens));
  std::size_t n_chunks = std::max<std::size_t>(1, needed);
  const auto holds = [&](std::size_t n) {
    std::size_t begin = 0;
    for (const std::size_t end : cut_evenly(sums, n)) {
      if (sums[end] - sums[begin] >= cluster_capacity_tokens) return false;
      begin = end;
    }
    return true;
  };
  while (n_chunks < items.size() && !holds(n_chunks)) ++n_chunks;
  return std::min(n_chunks, std::max<std::size_t>(1, items.size()));
}

}  // namespace packsim::flexsp
