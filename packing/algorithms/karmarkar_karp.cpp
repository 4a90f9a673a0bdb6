#include "packing/algorithms/karmarkar_karp.hpp"

#include <algorithm>
#include <queue>
#include <utility>

namespace packsim {
namespace {

struct Part {
  std::int64_t sum = 0;
  std::vector<std::uint32_t> values;  // in the order in which they came together

  bool operator>(const Part& other) const {
    if (sum != other.sum) return sum > other.sum;
    if (values.size() != other.values.size()) return values.size() > other.values.size();
    return values > other.values;
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
void merge(PartialPartition& into, PartialPartition from, std::size_t n_parts) {
  for (std::size_t i = 0; i < from.parts.size(); ++i) {
    Part& source = from.parts[i];
    const std::size_t partner = n_parts - 1 - i;
    if (partner >= into.parts.size()) continue;
    Part& target = into.parts[partner];
    target.sum += source.sum;
    target.values.insert(target.values.end(), source.values.begin(), source.values.end());
    source.values.clear();
  }
  for (Part& part : from.parts) {
    if (!part.values.empty()) into.parts.push_back(std::move(part));
  }
  std::ranges::sort(into.parts, std::greater{});
  into.spread = into.parts.front().sum - (into.parts.size() < n_parts ? 0 : into.parts.back().sum);
}

}  // namespace

std::vector<std::vector<std::uint32_t>> karmarkar_karp(std::span<const std::int64_t> values,
                                                       std::size_t n_parts) {
  std::vector<std::vector<std::uint32_t>> result(n_parts);
  if (values.empty()) return result;
  std::vector<PartialPartition> heap;
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    heap.push_back({.parts = {{values[i], {i}}}, .spread = n_parts > 1 ? values[i] : 0});
  }
  const auto pop = [&] {
    std::ranges::pop_heap(heap, merges_later);
    PartialPartition top = std::move(heap.back());
    heap.pop_back();
    return top;
  };
  std::ranges::make_heap(heap, merges_later);
  while (heap.size() > 1) {
    PartialPartition first = pop();
    merge(first, pop(), n_parts);
    heap.push_back(std::move(first));
    std::ranges::push_heap(heap, merges_later);
  }
  for (std::size_t p = 0; p < heap[0].parts.size(); ++p) {
    result[p] = std::move(heap[0].parts[p].values);
    std::ranges::sort(result[p]);
  }
  return result;
}

}  // namespace packsim
