#include "packing/pack_together.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

#include "packing/options/shared_options.hpp"
#include "packing/refusals/refuse.hpp"

namespace packsim {
namespace {

// Samples group after group, groups in the order of their first samples.
struct SampleGroups {
  PackSet members;
  std::vector<std::int64_t> numbers;        // [n_groups]: what group_of calls each
  std::vector<std::int64_t> length_tokens;  // [n_groups]
  std::vector<std::int64_t> extra;          // [n_groups]
};

SampleGroups groups_of(const PackRequest& request) {
  SampleGroups groups;
  const std::size_t n_samples = request.group_of.size();
  std::vector<std::uint32_t> group_of_sample(n_samples);
  std::unordered_map<std::int64_t, std::uint32_t> index_of;
  std::vector<std::uint32_t> next;
  for (std::size_t i = 0; i < n_samples; ++i) {
    const auto [at, is_new] =
        index_of.try_emplace(request.group_of[i], static_cast<std::uint32_t>(groups.numbers.size()));
    if (is_new) {
      groups.numbers.push_back(request.group_of[i]);
      groups.length_tokens.push_back(0);
      groups.extra.push_back(0);
      next.push_back(0);
    }
    group_of_sample[i] = at->second;
    groups.length_tokens[at->second] += request.lengths_tokens[i];
    if (!request.extra_sizes.empty()) groups.extra[at->second] += request.extra_sizes[i];
    ++next[at->second];
  }
  for (std::uint32_t& count : next) {
    const std::uint32_t first = groups.members.offsets.back();
    groups.members.offsets.push_back(first + count);
    count = first;
  }
  groups.members.items.resize(n_samples);
  for (std::size_t i = 0; i < n_samples; ++i)
    groups.members.items[next[group_of_sample[i]]++] = static_cast<ItemIndex>(i);
  return groups;
}

// The first few groups over a limit, as Offenders are for samples.
void refuse_groups_over(std::int64_t limit, const std::vector<std::int64_t>& sums, const SampleGroups& groups,
                        const std::string& what) {
  constexpr std::int64_t kMostNamed = 3;
  std::int64_t n_over = 0;
  std::string places;
  for (std::size_t group = 0; group < sums.size(); ++group) {
    if (sums[group] <= limit || ++n_over > kMostNamed) continue;
    places += (places.empty() ? "group " : ", group ") + std::to_string(groups.numbers[group]) + " has " +
              std::to_string(sums[group]);
  }
  if (n_over == 0) return;
  refuse("group_of: expected groups of at most " + std::to_string(limit) + " " + what + ", got " +
         std::to_string(n_over) + " that are not: " + places + (n_over > kMostNamed ? ", ..." : ""));
}

PackSet samples_of(const PackSet& packs_of_groups, const PackSet& members) {
  PackSet packs;
  packs.items.reserve(members.items.size());
  for (std::size_t p = 0; p < packs_of_groups.n_packs(); ++p) {
    for (const ItemIndex group : packs_of_groups[p])
      packs.items.insert(packs.items.end(), members[group].begin(), members[group].end());
    packs.close_pack();
  }
  return packs;
}

}  // namespace

void check_groups(const Strategy& strategy, const PackRequest& request) {
  if (request.group_of.size() != request.lengths_tokens.size()) {
    refuse("group_of: expected one for each of " + std::to_string(request.lengths_tokens.size()) +
           " samples, got " + std::to_string(request.group_of.size()));
  }
  if (strategy.forms_iterations() || strategy.cuts_samples || strategy.layout != Layout::packed) {
    refuse("group_of: expected none for " + std::string(strategy.name) +
           ", which does not pack whole samples into one row");
  }
  const bool drops = request.over_long == OverLong::drop;
  if (!drops && request.over_long != OverLong::error)
    refuse("over_long: expected error or drop beside group_of, as a group is neither cut nor split");
  if (request.longest_sample_tokens() < request.capacities_tokens.back())
    refuse("longest_tokens: expected the pack length beside group_of");
  if (request.options[kMaxSamplesPerPack]) {
    refuse(
        "max_samples_per_pack: expected none beside group_of; extra_sizes of 1 and an extra_capacity "
        "limit the samples of a pack");
  }
  if (request.empty != Empty::keep &&
      std::ranges::find(request.lengths_tokens, 0) != request.lengths_tokens.end())
    refuse(
        "lengths_tokens: expected lengths of at least 1 beside group_of (or empty keep), so that groups stay "
        "whole");
  const SampleGroups groups = groups_of(request);
  if (!drops) {
    refuse_groups_over(request.capacities_tokens.back(), groups.length_tokens, groups,
                       "tokens (or over_long drop)");
  }
  if (!request.extra_sizes.empty())
    refuse_groups_over(request.extra_capacity, groups.extra, groups, "in extra sizes");
}

Packing pack_together(const Strategy& strategy, const PackRequest& request) {
  const SampleGroups groups = groups_of(request);
  const std::int64_t capacity = request.capacities_tokens.back();
  std::vector<std::int32_t> lengths(groups.numbers.size());
  std::ranges::transform(groups.length_tokens, lengths.begin(), [&](std::int64_t tokens) {
    return static_cast<std::int32_t>(std::min(tokens, capacity + 1));  // longer ones are dropped
  });
  const std::vector<std::int32_t> extra(groups.extra.begin(), groups.extra.end());
  PackRequest of_groups = request;
  of_groups.group_of = {};
  of_groups.lengths_tokens = lengths;
  if (!request.extra_sizes.empty()) of_groups.extra_sizes = extra;

  Packing packing = pack(strategy.name, of_groups);
  for (PackSet& packs : packing.groups) packs = samples_of(packs, groups.members);
  packing.lengths_tokens = request.lengths_tokens;
  packing.counts = {};
  packing.counts.n_samples = static_cast<std::int64_t>(request.lengths_tokens.size());
  for (std::size_t group = 0; group < lengths.size(); ++group) {
    packing.counts.n_tokens += groups.length_tokens[group];
    if (lengths[group] <= capacity) continue;
    packing.counts.dropped_samples += static_cast<std::int64_t>(groups.members[group].size());
    packing.counts.dropped_tokens += groups.length_tokens[group];
  }
  std::size_t n_packed = 0;
  for (const PackSet& packs : packing.groups) n_packed += packs.items.size();
  if (static_cast<std::int64_t>(n_packed) + packing.counts.dropped_samples != packing.counts.n_samples)
    throw std::logic_error("pack_together: " + std::to_string(n_packed) + " samples are packed");
  return packing;
}

}  // namespace packsim
