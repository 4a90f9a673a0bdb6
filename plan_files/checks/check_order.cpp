#include <algorithm>
#include <string>
#include <tuple>

#include "packing/schedule/schedule.hpp"
#include "plan_files/checks/checks.hpp"
#include "plan_files/restore_plan.hpp"

namespace packsim {
namespace {

using Batches = std::vector<std::vector<MicroBatch>>;  // [n_groups][n_packs]

const MicroBatch& batch_of(const Batches& batches, const PlanPlacedPack& placed) {
  return batches[placed.group][placed.pack];
}

// Each iteration has packs of similar attention work: neighbours, when the packs of the group are sorted by
// it.
void check_balance(const PlanTables& tables, const Batches& batches, Mistakes& mistakes) {
  using Key = std::pair<std::int64_t, std::uint32_t>;  // attention work, pack
  const auto key_of = [&](const PlanPlacedPack& placed) {
    return Key(batch_of(batches, placed).computed_pairs, placed.pack);
  };
  const auto n = static_cast<std::size_t>(tables.iterations_per_epoch());
  std::vector<std::tuple<std::uint16_t, Key, Key, std::size_t>> ranges;  // group, first, last, iteration
  for (std::size_t i = 0; i < tables.iterations.size(); ++i) {
    if (i % n == 0) ranges.clear();
    const auto packs = tables.packs(tables.iterations[i]);
    if (!std::ranges::is_sorted(packs, {}, key_of))
      return mistakes.add("iterations", i, "packs by ascending attention work, as order is balanced", i);
    ranges.emplace_back(packs.front().group, key_of(packs.front()), key_of(packs.back()), i);
    if ((i + 1) % n != 0) continue;
    std::ranges::sort(ranges);
    for (std::size_t r = 1; r < ranges.size(); ++r) {
      const auto& [group, first, last, iteration] = ranges[r];
      if (group != std::get<0>(ranges[r - 1]) || first >= std::get<2>(ranges[r - 1])) continue;
      return mistakes.add("iterations", iteration,
                          "packs between which no other iteration has some, as order is balanced", iteration);
    }
  }
}

// Attention pairs of each iteration of the first epoch; empty where a sum does not fit.
std::vector<std::int64_t> work_of(const PlanTables& tables, std::span<const PlanIteration> iterations,
                                  const Batches& batches, Mistakes& mistakes) {
  std::vector<std::int64_t> work(iterations.size());
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    for (const PlanPlacedPack& placed : tables.packs(iterations[i])) {
      const std::int64_t pairs = batch_of(batches, placed).computed_pairs;
      if (!__builtin_add_overflow(work[i], pairs, &work[i])) continue;
      mistakes.add("iterations", i, "less than 2^63 token pairs", pairs);
      return {};
    }
  }
  return work;
}

// Those that the policy for last iterations has made shorter end the epoch, and are no part of a curriculum.
bool is_whole(const PlanTables& tables, const PlanIteration& iteration) {
  const PlanGroup& group = tables.groups[tables.packs(iteration).front().group];
  const std::uint64_t n_ranks = static_cast<std::uint64_t>(tables.facts.n_gpus) / group.gpus_per_pack();
  return iteration.n_placed == n_ranks * group.micro_batches_per_rank;
}

// The run begins with iterations of the first group, if there are several, and else with those of the least
// attention work.
void check_curriculum(const PlanTables& tables, const Strategy& strategy, const Batches& batches,
                      Mistakes& mistakes) {
  const auto wanted = static_cast<std::size_t>(tables.facts.curriculum_iterations);
  const auto epoch = tables.iterations.first(static_cast<std::size_t>(tables.iterations_per_epoch()));
  const bool is_planned = strategy.forms_iterations();
  if (!is_planned && tables.groups.size() > 1) {
    for (std::size_t i = 0; i < wanted; ++i) {
      const std::uint16_t group = tables.packs(epoch[i]).front().group;
      if (group != 0)
        return mistakes.add("iterations", i, "one of group 0, with which the curriculum begins", group);
    }
    return;
  }
  const std::vector<std::int64_t> work = work_of(tables, epoch, batches, mistakes);
  if (work.size() != epoch.size()) return;
  const std::int64_t most = std::ranges::max(std::span(work).first(wanted));
  for (std::size_t i = wanted; i < epoch.size(); ++i) {
    if (work[i] >= most || (!is_planned && !is_whole(tables, epoch[i]))) continue;
    return mistakes.add("iterations", i,
                        "at least " + std::to_string(most) + " token pairs, as the curriculum has them",
                        work[i]);
  }
}

}  // namespace

void check_order(const PlanTables& tables, const Strategy& strategy, Mistakes& mistakes) {
  const PlanFacts& facts = tables.facts;
  const bool is_balanced = facts.order == PackOrder::balanced && !strategy.forms_iterations();
  if (tables.iterations.empty() || (!is_balanced && facts.curriculum_iterations == 0)) return;
  const Packing packing = restore_packing(tables, strategy);
  Batches batches;
  for (std::size_t g = 0; g < tables.groups.size(); ++g)
    batches.push_back(micro_batches(packing, g, facts.padding, facts.pad_multiple_tokens));
  if (is_balanced) check_balance(tables, batches, mistakes);
  if (facts.curriculum_iterations > 0) check_curriculum(tables, strategy, batches, mistakes);
}

}  // namespace packsim
