#include "experiment/search/near_plans.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "experiment/pricers/job_of.hpp"
#include "planning/group_selection/candidate_groups.hpp"

namespace packsim {
namespace {

using Groups = std::vector<GroupSpec>;

void add(const PlanCandidate& near, const ParallelPlan& base, const Groups& groups, GroupOptions& options,
         WorkFloors& floors, PlanSpace& space) {
  if (std::optional<PlanCandidate> candidate = with_packs(near, base, groups, options, floors))
    space.candidates.push_back(*std::move(candidate));
  else
    ++space.n_too_large;
}

std::vector<Groups> near_groups(const Groups& groups, double part, std::int64_t longest_tokens) {
  const std::array<double, 2> factors = {part < 1 ? 1 - part : 0.5, 1 + part};
  std::vector<Groups> near;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const bool is_last = g + 1 == groups.size();
    const std::int64_t gpus = groups[g].sequence.gpus_per_pack();
    for (const double factor : factors) {
      Groups& changed = near.emplace_back(groups);
      const double tokens = factor * static_cast<double>(groups[g].capacity_tokens);
      const std::int64_t least = is_last ? longest_tokens : 1;
      changed[g].capacity_tokens =
          std::max(round_up_to(least, gpus), round_up_to(std::llround(tokens), gpus));
    }
    if (is_last) continue;
    Groups& fewer = near.emplace_back(groups);
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(g));
  }
  std::erase_if(near, [&](const Groups& one) {
    return one == groups || !std::ranges::is_sorted(one, std::less_equal<>(), &GroupSpec::capacity_tokens);
  });
  return near;
}

bool differ_in_chunks_alone(const ParallelPlan& one, ParallelPlan other) {
  if (one.virtual_stages == other.virtual_stages) return false;
  other.virtual_stages = one.virtual_stages;
  return one == other;
}

}  // namespace

void add_near_lengths(const PlanCandidate& near, double part, GroupOptions& options, WorkFloors& floors,
                      PlanSpace& space) {
  for (const Groups& groups : near_groups(near.spec.groups, part, options.longest_tokens()))
    add(near, *near.spec.plan, groups, options, floors, space);
}

void add_fewer_degrees(const PlanCandidate& near, GroupOptions& options, WorkFloors& floors,
                       PlanSpace& space) {
  Groups groups = near.spec.groups;
  while (groups.size() > 1) {
    groups.erase(groups.begin());
    add(near, *near.spec.plan, groups, options, floors, space);
  }
}

void add_near_ways(const PlanCandidate& near, const OptionValues& given, std::span<const ParallelPlan> bases,
                   GroupOptions& options, WorkFloors& floors, PlanSpace& space) {
  const ParallelPlan& base = *near.spec.plan;
  const std::vector<SequenceParallelism> ways = ways_to_share(job_of(options.scenario()), base);
  for (std::size_t g = 0; g < near.spec.groups.size(); ++g) {
    for (const SequenceParallelism& way : ways) {
      Groups groups = near.spec.groups;
      const SequenceParallelism before = std::exchange(groups[g].sequence, way);
      if (way == before || way.gpus_per_pack() != before.gpus_per_pack()) continue;
      add(near, base, groups, options, floors, space);
    }
  }
  for (const PlanCandidate& other : with_other_options(near, given))
    add(other, base, other.spec.groups, options, floors, space);
  for (const ParallelPlan& other : bases) {
    if (differ_in_chunks_alone(base, other)) add(near, other, near.spec.groups, options, floors, space);
  }
}

void add_other_strategies(const PlanCandidate& near, std::span<const StrategySpec> others,
                          GroupOptions& options, WorkFloors& floors, PlanSpace& space) {
  for (const StrategySpec& other : others) {
    const bool is_same = other.strategy == near.spec.strategy && other.order == near.spec.order;
    if (is_same || strategy_of(other).mixes_groups) continue;
    PlanCandidate changed = near;
    changed.option_set = 0;
    changed.spec.strategy = other.strategy;
    changed.spec.order = other.order;
    changed.spec.window_samples = other.window_samples;
    changed.spec.options = other.options;
    add(changed, *near.spec.plan, near.spec.groups, options, floors, space);
  }
}

}  // namespace packsim
