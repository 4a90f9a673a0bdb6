#include "packing/algorithms/balance/karmarkar_karp.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

namespace packsim {
namespace {

// Values of one part of a partition, linked in the order in which they came together.
struct Part {
  std::int64_t sum = 0;
  std::uint32_t n_values = 0;
  std::uint32_t first = 0;
  std::uint32_t last = 0;

  // No two parts have the same first value, so their order is decided.
  bool operator>(const Part& other) const {
    return std::tie(sum, n_values, first) > std::tie(other.sum, other.n_values, other.first);
  }
};

// A partition of some of the values: its parts that are not empty, largest first.
struct PartialPartition {
  std::vector<Part> parts;
  std::int64_t spread = 0;
};

bool merges_later(const PartialPartition& a, const PartialPartition& b) {
  if (a.spread != b.spread) return a.spread < b.spread;
  return b.parts.front() > a.parts.front();
}

// The largest part of one with the smallest of the other, and so on. Parts beyond the list are empty.
// next: [n_values], the value behind each in its part.
void merge(PartialPartition& into, const PartialPartition& from, std::size_t n_parts,
           std::vector<std::uint32_t>& next) {
  const auto n_into = std::ssize(into.parts);
  const auto n_from = std::ssize(from.parts);
  const std::ptrdiff_t n_shared =
      std::max<std::ptrdiff_t>(0, n_into + n_from - static_cast<std::ptrdiff_t>(n_parts));
  for (std::ptrdiff_t i = 0; i < n_shared; ++i) {
    Part& target = into.parts[n_into - 1 - i];
    const Part& source = from.parts[n_from - n_shared + i];
    next[target.last] = source.first;
    target = {target.sum + source.sum, target.n_values + source.n_values, target.first, source.last};
  }
  into.parts.insert(into.parts.end(), from.parts.begin(), from.parts.end() - n_shared);
  // Three runs, of which only the middle one is not in order. To sort all would take B log B every time.
  const auto begin = into.parts.begin();
  const auto shared = begin + (n_into - n_shared);
  std::sort(shared, begin + n_into, std::greater{});
  std::inplace_merge(begin, shared, begin + n_into, std::greater{});
  std::inplace_merge(begin, begin + n_into, into.parts.end(), std::greater{});
  into.spread = into.parts.front().sum - (into.parts.size() < n_parts ? 0 : into.parts.back().sum);
}

std::vector<std::uint32_t> values_of(const Part& part, const std::vector<std::uint32_t>& next) {
  std::vector<std::uint32_t> values = {part.first};
  while (values.back() != part.last) values.push_back(next[values.back()]);
  std::ranges::sort(values);
  return values;
}

// One value each or, for parts of equal size, values of about the same size side by side.
std::vector<PartialPartition> first_partitions(std::span<const std::int64_t> values, std::size_t n_parts,
                                               PartSizes sizes) {
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0U);
  const std::size_t n_together = sizes == PartSizes::equal ? n_parts : 1;
  if (n_together > 1) std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return values[i]; });
  const std::size_t n_odd = values.size() % n_together;
  std::vector<PartialPartition> partitions;
  for (std::size_t first = 0; first < order.size();) {
    const std::size_t n = first == 0 && n_odd > 0 ? n_odd : n_together;
    PartialPartition partition;
    for (const std::uint32_t i : std::span(order).subspan(first, n))
      partition.parts.push_back({.sum = values[i], .n_values = 1, .first = i, .last = i});
    std::ranges::sort(partition.parts, std::greater{});
    partition.spread = partition.parts.front().sum - (n < n_parts ? 0 : partition.parts.back().sum);
    partitions.push_back(std::move(partition));
    first += n;
  }
  return partitions;
}

}  // namespace

std::vector<std::vector<std::uint32_t>> karmarkar_karp(std::span<const std::int64_t> values,
                                                       std::size_t n_parts, PartSizes sizes) {
  std::vector<std::vector<std::uint32_t>> result(n_parts);
  if (values.empty()) return result;
  std::vector<std::uint32_t> next(values.size());
  std::vector<PartialPartition> heap = first_partitions(values, n_parts, sizes);
  const auto pop = [&] {
    std::ranges::pop_heap(heap, merges_later);
    PartialPartition top = std::move(heap.back());
    heap.pop_back();
    return top;
  };
  std::ranges::make_heap(heap, merges_later);
  while (heap.size() > 1) {
    PartialPartition first = pop();
    merge(first, pop(), n_parts, next);
    heap.push_back(std::move(first));
    std::ranges::push_heap(heap, merges_later);
  }
  for (std::size_t p = 0; p < heap[0].parts.size(); ++p) {
    result[p] = values_of(heap[0].parts[p], next);
  }
  return result;
}

std::vector<std::vector<ItemIndex>> balanced_parts(std::span<const ItemIndex> items, std::size_t n_parts,
                                                   PartSizes sizes,
                                                   const std::function<std::int64_t(ItemIndex)>& work_of) {
  std::vector<std::int64_t> work(items.size());
  std::ranges::transform(items, work.begin(), work_of);
  std::vector<std::vector<ItemIndex>> parts = karmarkar_karp(work, n_parts, sizes);
  for (std::vector<ItemIndex>& part : parts) {
    for (ItemIndex& index : part) index = items[index];
  }
  return parts;
}

}  // namespace packsim
