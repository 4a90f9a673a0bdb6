#include <algorithm>

#include "packing/algorithms/group_data.hpp"
#include "packing/strategies/strategies.hpp"

namespace packsim::strategies_detail {
namespace {

// Runs the packer over some of the items, with their lengths side by side.
PackSet pack_items(const PackProblem& problem, std::int64_t capacity_tokens,
                   const std::vector<ItemIndex>& items) {
  const Strategy* packer = find_strategy(problem.options.packer);
  std::vector<std::int32_t> lengths(items.size());
  std::ranges::transform(items, lengths.begin(),
                         [&](ItemIndex item) { return problem.lengths_tokens[item]; });
  PackProblem part = problem;
  part.lengths_tokens = lengths;
  part.capacity_tokens = capacity_tokens;
  PackSet packs = packer->pack(part);
  for (ItemIndex& item : packs.items) item = items[item];
  return packs;
}

}  // namespace

std::vector<PackSet> hbp(const PackProblem& problem, std::span<const std::int64_t> capacities_tokens) {
  std::vector<std::vector<ItemIndex>> members = group_data(problem, capacities_tokens);
  std::vector<PackSet> packs(members.size());
  for (std::size_t group = members.size(); group-- > 0;) {
    packs[group] = pack_items(problem, capacities_tokens[group], members[group]);
    if (!problem.options.greedy_fill) continue;
    std::vector<std::vector<ItemIndex>*> smaller;
    for (std::size_t below = group; below-- > 0;) smaller.push_back(&members[below]);
    greedy_fill(problem.lengths_tokens, capacities_tokens[group], packs[group], smaller);
  }
  return packs;
}

}  // namespace packsim::strategies_detail
