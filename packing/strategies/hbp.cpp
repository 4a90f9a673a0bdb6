#include <algorithm>
#include <array>

#include "packing/algorithms/group_data.hpp"
#include "packing/options/shared_options.hpp"
#include "packing/strategy.hpp"

namespace packsim::strategies_detail {
namespace {

std::vector<std::string_view> packer_names() {
  std::vector<std::string_view> names;
  for (const Strategy& strategy : strategies()) {
    if (can_pack_a_group(strategy)) names.push_back(strategy.name);
  }
  return names;
}

constexpr WordOption kPacker =
    word_option("packer", "isf", packer_names, "The strategy that packs each group.");

constexpr BooleanOption kGreedyFill =
    boolean_option("greedy_fill", true, "Tops larger packs up with samples of smaller groups.");

// Runs the packer over some of the items, with their lengths side by side.
PackSet pack_items(const PackProblem& problem, const Strategy& packer, std::int64_t capacity_tokens,
                   const std::vector<ItemIndex>& items) {
  std::vector<std::int32_t> lengths(items.size());
  std::ranges::transform(items, lengths.begin(),
                         [&](ItemIndex item) { return problem.lengths_tokens[item]; });
  PackProblem part = problem;
  part.lengths_tokens = lengths;
  part.capacity_tokens = capacity_tokens;
  PackSet packs = packer.pack(part);
  for (ItemIndex& item : packs.items) item = items[item];
  return packs;
}

std::vector<PackSet> pack_hbp(const PackProblem& problem, std::span<const std::int64_t> capacities_tokens) {
  std::vector<std::vector<ItemIndex>> members = group_data(problem, capacities_tokens);
  std::vector<PackSet> packs(members.size());
  const Strategy& packer = *find_strategy(problem.options[kPacker]);
  const bool fills = problem.options[kGreedyFill];
  for (std::size_t group = members.size(); group-- > 0;) {
    packs[group] = pack_items(problem, packer, capacities_tokens[group], members[group]);
    if (!fills) continue;
    std::vector<std::vector<ItemIndex>*> smaller;
    for (std::size_t below = group; below-- > 0;) smaller.push_back(&members[below]);
    greedy_fill(problem.lengths_tokens, capacities_tokens[group], packs[group], smaller);
  }
  return packs;
}

constexpr std::array<const Option*, 7> kHbpOptions = {
    &kPacker, &kGreedyFill, &kRounds, &kThresholdTokens, &kMaxSamplesPerPack, &kShuffle, &kSeed};

}  // namespace

extern constinit const Strategy hbp = {
    .name = "hbp",
    .summary =
        "Hierarchical: samples grouped by length, each group packed to "
        "its own capacity, larger packs topped up with smaller samples.",
    .complexity = "That of the packer.",
    .source = "HBP arXiv 2503.07680",
    .pack_groups = pack_hbp,
    .options = kHbpOptions,
    .default_order = PackOrder::balanced,
};

}  // namespace packsim::strategies_detail
