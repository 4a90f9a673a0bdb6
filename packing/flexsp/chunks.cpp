#include "packing/flexsp/chunks.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

namespace packsim::flexsp {
namespace {

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

Chunker::Chunker(std::span<const std::int32_t> lengths_tokens, std::span<const ItemIndex> items,
                 ChunkOrder order)
    : ordered_(in_order(lengths_tokens, items, order)),
      sums_(running_sums(lengths_tokens, ordered_)),
      largest_({sums_}) {}

void Chunker::add_row() {
  const std::vector<std::int64_t>& before = largest_.back();
  std::vector<std::int64_t> row(sums_.size());
  // The first start at which the chunks before the last one are as large as the last one.
  std::size_t crossing = largest_.size();
  for (std::size_t end = crossing + 1; end < sums_.size(); ++end) {
    while (crossing + 1 < end && before[crossing] < tokens(crossing, end)) ++crossing;
    row[end] = std::max(before[crossing], tokens(crossing, end));
    if (crossing > largest_.size()) row[end] = std::min(row[end], tokens(crossing - 1, end));
  }
  largest_.push_back(std::move(row));
}

std::vector<std::size_t> Chunker::ends(std::size_t n_chunks) {
  while (largest_.size() < n_chunks) add_row();
  std::vector<std::size_t> ends(n_chunks);
  std::size_t end = sums_.size() - 1;
  for (std::size_t chunk = n_chunks; chunk-- > 0;) {
    ends[chunk] = end;
    if (chunk == 0) break;
    // This chunk starts as early as the largest one allows.
    const std::int64_t least_before = sums_[end] - largest_[chunk][end];
    const auto first = sums_.begin() + static_cast<std::ptrdiff_t>(chunk);
    const auto last = sums_.begin() + static_cast<std::ptrdiff_t>(end) - 1;
    end = static_cast<std::size_t>(std::lower_bound(first, last, least_before) - sums_.begin());
  }
  return ends;
}

std::vector<std::vector<ItemIndex>> Chunker::chunks(std::size_t n_chunks) {
  if (n_chunks < 1 || n_chunks > ordered_.size()) {
    throw std::invalid_argument("n_chunks: expected 1.." + std::to_string(ordered_.size()) + ", got " +
                                std::to_string(n_chunks));
  }
  std::vector<std::vector<ItemIndex>> result;
  std::size_t begin = 0;
  for (const std::size_t end : ends(n_chunks)) {
    result.emplace_back(ordered_.begin() + static_cast<std::ptrdiff_t>(begin),
                        ordered_.begin() + static_cast<std::ptrdiff_t>(end));
    begin = end;
  }
  return result;
}

std::size_t Chunker::fewest_chunks(std::int64_t cluster_capacity_tokens) {
  const auto needed = static_cast<std::size_t>((sums_.back() + cluster_capacity_tokens - 1) /
                                               std::max<std::int64_t>(1, cluster_capacity_tokens));
  std::size_t n_chunks = std::max<std::size_t>(1, needed);
  const auto holds = [&](std::size_t n) {
    std::size_t begin = 0;
    for (const std::size_t end : ends(n)) {
      if (tokens(begin, end) >= cluster_capacity_tokens) return false;
      begin = end;
    }
    return true;
  };
  while (n_chunks < ordered_.size() && !holds(n_chunks)) ++n_chunks;
  return std::min(n_chunks, std::max<std::size_t>(1, ordered_.size()));
}

}  // namespace packsim::flexsp
