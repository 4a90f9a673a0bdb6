#include "reports/tables/shown_groups.hpp"

#include <algorithm>

#include "models/plan/plan_text.hpp"
#include "reports/tables/comparable_runs.hpp"
#include "reports/text/numbers.hpp"

namespace packsim {
namespace {

constexpr std::size_t kMany = 8;

bool is_one_row(const PlannedGroup& a, const PlannedGroup& b) {
  return a.sequence == b.sequence && a.zero_stage == b.zero_stage;
}

}  // namespace

std::vector<ShownGroup> shown_groups(const StrategyResult& run) {
  std::vector<ShownGroup> shown;
  if (run.groups.size() <= kMany) {
    for (const PlannedGroup& group : run.groups) {
      shown.push_back(
          {group, std::to_string(group.gc_layers), formats_detail::capacity(group.capacity_tokens)});
    }
    return shown;
  }
  std::vector<std::pair<int, int>> layers;     // fewest and most
  std::vector<std::int64_t> least_capacities;  // tokens
  for (const PlannedGroup& group : run.groups) {
    const auto same =
        std::ranges::find_if(shown, [&](const ShownGroup& row) { return is_one_row(row.group, group); });
    if (same == shown.end()) {
      shown.push_back({group, "", ""});
      layers.emplace_back(group.gc_layers, group.gc_layers);
      least_capacities.push_back(group.capacity_tokens);
      continue;
    }
    PlannedGroup& row = same->group;
    const auto index = static_cast<std::size_t>(same - shown.begin());
    std::pair<int, int>& row_layers = layers[index];
    least_capacities[index] = std::min(least_capacities[index], group.capacity_tokens);
    row_layers = {std::min(row_layers.first, group.gc_layers), std::max(row_layers.second, group.gc_layers)};
    const std::int64_t packs = row.packs + group.packs;
    const std::int64_t iterations = std::max(row.iterations, group.iterations);
    const std::int64_t capacity_tokens = std::max(row.capacity_tokens, group.capacity_tokens);
    const bool feasible = row.feasible && group.feasible;
    const MemoryVerdict verdict = std::max(row.verdict, group.verdict);
    if (group.peak_memory_bytes > row.peak_memory_bytes) row = group;
    row.packs = packs;
    row.iterations = iterations;
    row.capacity_tokens = capacity_tokens;
    row.feasible = feasible;
    row.verdict = verdict;
  }
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const auto [fewest, most] = layers[i];
    shown[i].gc_layers =
        fewest == most ? std::to_string(most) : std::to_string(fewest) + "-" + std::to_string(most);
    const std::string largest = formats_detail::capacity(shown[i].group.capacity_tokens);
    const std::string least = formats_detail::capacity(least_capacities[i]);
    shown[i].capacity = least == largest ? largest : least + "-" + largest;
  }
  std::ranges::stable_sort(shown, {}, [](const ShownGroup& row) { return row.group.sequence.ulysses; });
  return shown;
}

std::string memory_text(const PlannedGroup& group) {
  const std::string used = formats_detail::memory_need(group);
  return group.verdict == MemoryVerdict::may_not_fit ? used + ", may not fit" : used;
}

std::string groups_text(const ParallelPlan& plan, std::span<const PlannedGroup> groups) {
  std::string text;
  for (const PlannedGroup& group : groups) {
    if (!text.empty()) text += "; ";
    text += group_text(group.capacity_tokens, plan_of_group(plan, group));
  }
  return text;
}

}  // namespace packsim
