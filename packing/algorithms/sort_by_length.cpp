#include "packing/algorithms/sort_by_length.hpp"

#include <algorithm>
#include <numeric>

namespace packsim {
namespace {

// A counting sort: linear, stable, and the runs of equal length fall out of it.
LengthOrder counting_sort(const PackProblem& problem, std::int32_t longest_tokens, bool descending) {
  const auto lengths = problem.lengths_tokens;
  const std::size_t n_keys = static_cast<std::size_t>(longest_tokens) + 1;
  std::vector<std::uint32_t> position(n_keys, 0);
  for (const std::int32_t length : lengths) ++position[static_cast<std::size_t>(length)];
  for (std::size_t key = 0; key < n_keys; ++key) {
    if (problem.skips(static_cast<std::int32_t>(key))) position[key] = 0;
  }

  LengthOrder order;
  std::uint32_t next = 0;
  for (std::size_t k = 0; k < n_keys; ++k) {
    const std::size_t key = descending ? n_keys - 1 - k : k;
    const std::uint32_t count = position[key];
    if (count > 0) order.runs.push_back({static_cast<std::int32_t>(key), next, count});
    position[key] = next;
    next += count;
  }
  order.items.resize(next);
  const bool skips_any = next != lengths.size();
  for (std::size_t item = 0; item < lengths.size(); ++item) {
    if (skips_any && problem.skips(lengths[item])) continue;
    order.items[position[static_cast<std::size_t>(lengths[item])]++] = static_cast<ItemIndex>(item);
  }
  return order;
}

// This suits few items of great length, where a counting sort would touch more keys than items.
LengthOrder comparison_sort(const PackProblem& problem, bool descending) {
  const auto lengths = problem.lengths_tokens;
  LengthOrder order;
  for (std::size_t item = 0; item < lengths.size(); ++item) {
    if (!problem.skips(lengths[item])) order.items.push_back(static_cast<ItemIndex>(item));
  }
  std::stable_sort(order.items.begin(), order.items.end(), [&](ItemIndex a, ItemIndex b) {
    return descending ? lengths[a] > lengths[b] : lengths[a] < lengths[b];
  });
  for (std::uint32_t i = 0; i < order.items.size(); ++i) {
    const std::int32_t length = lengths[order.items[i]];
    if (order.runs.empty() || order.runs.back().length_tokens != length) order.runs.push_back({length, i, 0});
    ++order.runs.back().count;
  }
  return order;
}

LengthOrder sort_by_length(const PackProblem& problem, bool descending) {
  if (problem.lengths_tokens.empty()) return {};
  const std::int32_t longest = *std::ranges::max_element(problem.lengths_tokens);
  const bool few = static_cast<std::size_t>(longest) / 4 > problem.lengths_tokens.size();
  return few ? comparison_sort(problem, descending) : counting_sort(problem, longest, descending);
}

}  // namespace

LengthOrder longest_first(const PackProblem& problem) {
  return sort_by_length(problem, true);
}
LengthOrder shortest_first(const PackProblem& problem) {
  return sort_by_length(problem, false);
}

}  // namespace packsim
