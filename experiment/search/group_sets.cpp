#include "experiment/search/group_sets.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <ranges>
#include <utility>

#include "experiment/plans/plan_group.hpp"
#include "planning/tune/tune.hpp"

namespace packsim {
namespace {

constexpr std::size_t kMostShortGroups = 3;
constexpr std::size_t kMostLengths = 10;

// Seconds of a GPU for the samples that packs of this length hold, with the filling of a pipeline.
double work_s(const GroupOption& one, WorkFloors& floors) {
  return one.fill_factor * floors.of(one.plan, one.group.capacity_tokens).gpu_s(0);
}

struct RatedOption {
  GroupOption option;
  double work_s = 0;
};

// The least that the option's work may take: recomputation, which differs between options, adds to it.
double least_work_s(const GroupOption& one, WorkFloors& floors) {
  GroupOption without = one;
  without.plan.gc_layers = 0;
  return work_s(without, floors);
}

// The cheapest of options of one length; the first of those that are equal.
const GroupOption& cheapest(std::span<const GroupOption* const> options, WorkFloors& floors) {
  std::multimap<double, const GroupOption*> by_least;
  for (const GroupOption* one : options) by_least.emplace(least_work_s(*one, floors), one);
  std::pair best(std::numeric_limits<double>::infinity(), by_least.begin()->second);
  for (const auto& [least_s, one] : by_least) {
    if (least_s > best.first) break;
    best = std::min(best, std::pair(work_s(*one, floors), one));
  }
  return *best.second;
}

// The cheapest option of each length below `below_tokens`, the longest lengths first.
std::vector<GroupOption> cheapest_of_lengths(std::span<const GroupOption> options, std::int64_t below_tokens,
                                             WorkFloors& floors) {
  std::map<std::int64_t, std::vector<const GroupOption*>, std::greater<>> of_length;
  for (const GroupOption& one : options) {
    if (one.fits && one.fills_iteration && one.group.capacity_tokens < below_tokens)
      of_length[one.group.capacity_tokens].push_back(&one);
  }
  std::vector<GroupOption> longest_first;
  for (const auto& [tokens, of_one] : of_length | std::views::take(kMostLengths))
    longest_first.push_back(cheapest(of_one, floors));
  return longest_first;
}

void add_subsets(std::span<const GroupOption> shorter, std::vector<GroupOption>& chosen,
                 const GroupOption& longest, std::vector<std::vector<GroupOption>>& sets) {
  std::vector<GroupOption> set(chosen.rbegin(), chosen.rend());
  set.push_back(longest);
  sets.push_back(std::move(set));
  if (chosen.size() == kMostShortGroups) return;
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    chosen.push_back(shorter[i]);
    add_subsets(shorter.subspan(i + 1), chosen, longest, sets);
    chosen.pop_back();
  }
}

}  // namespace

std::vector<std::vector<GroupOption>> group_sets(std::span<const GroupOption> options,
                                                 std::int64_t longest_tokens, WorkFloors& floors) {
  std::vector<RatedOption> longest;
  const bool any_fills = std::ranges::any_of(options, [&](const GroupOption& one) {
    return one.fits && one.fills_iteration && one.group.capacity_tokens >= longest_tokens;
  });
  for (const GroupOption& one : options) {
    if (!one.fits || one.group.capacity_tokens < longest_tokens) continue;
    if (one.fills_iteration || one.is_above_share || !any_fills)
      longest.push_back({one, work_s(one, floors)});
  }
  if (longest.empty()) return {};
  std::ranges::stable_sort(longest, {}, &RatedOption::work_s);
  constexpr std::size_t kMostLongest = 3;
  const std::vector<GroupOption> shorter = cheapest_of_lengths(options, longest_tokens, floors);
  std::vector<std::vector<GroupOption>> sets;
  for (std::size_t i = 0; i < longest.size(); ++i) {
    std::vector<GroupOption> chosen;
    add_subsets(i < kMostLongest ? shorter : std::vector<GroupOption>{}, chosen, longest[i].option, sets);
  }
  return sets;
}

std::vector<GroupOption> groups_of_algorithm_1(const ParallelPlan& base, GroupOptions& options,
                                               WorkFloors& floors) {
  const Scenario& scenario = options.scenario();
  TuneRequest request{.lengths_tokens = candidate_lengths(options.longest_tokens()), .sp_degrees = {}};
  for (const int degree : kCandidateDegrees) {
    ParallelPlan plan = base;
    plan.sequence.ulysses = degree;
    if (plan_mistakes(scenario.model, scenario.cluster, plan).empty()) request.sp_degrees.push_back(degree);
  }
  if (request.sp_degrees.empty()) return {};
  const auto tokens = static_cast<double>(scenario.training.tokens_per_iteration);
  const Profiler profiler = [&](std::int64_t pack_tokens, int degree) {
    if (pack_tokens % degree != 0) return std::vector<ProfiledCase>{};
    const GroupOption& one = options.of(base, {.ulysses = degree}, pack_tokens);
    ProfiledCase profiled{
        .pack_tokens = pack_tokens, .sequence = one.group.sequence, .gc_layers = *one.group.gc_layers};
    const int n_ranks = packed_gpus(base) / degree;
    const double held_tokens = floors.n_tokens(pack_tokens);
    if (one.fits && n_ranks * pack_tokens <= scenario.training.tokens_per_iteration && held_tokens > 0)
      profiled.step_s = work_s(one, floors) / packed_gpus(base) * tokens / held_tokens;
    if (!profiled.step_s) profiled.infeasible_reason = "does not fit";
    return std::vector{profiled};
  };
  std::vector<GroupOption> groups;
  for (const TunedGroup& group : tune(request, profiler).groups)
    groups.push_back(options.of(base, group.sequence, group.pack_tokens));
  return groups;
}

}  // namespace packsim
