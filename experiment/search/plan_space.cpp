#include "experiment/search/plan_space.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "experiment/plans/plan_group.hpp"
#include "experiment/plans/planned_strategy.hpp"
#include "experiment/pricers/job_of.hpp"
#include "experiment/search/base_plans.hpp"
#include "experiment/search/group_options.hpp"
#include "experiment/search/group_sets.hpp"
#include "packing/options/shared_options.hpp"
#include "packing/schedule/iteration_size.hpp"
#include "sim/run/plan_cost.hpp"

namespace packsim {
namespace {

constexpr int kDepths = 8;

// What a trainer has one of in a run, unless the strategy is its own.
bool is_limited(const Scenario& scenario, const StrategySpec& spec) {
  return scenario.trainer != nullptr && !scenario.trainer->is_own(spec.strategy);
}
bool keeps_one_degree(const Scenario& scenario, const StrategySpec& spec) {
  return is_limited(scenario, spec) && has_one_degree(scenario);
}
bool may_run_together(const Scenario& scenario, const StrategySpec& spec,
                      std::span<const GroupOption> groups) {
  if (groups.size() < 2 || !is_limited(scenario, spec)) return true;
  if (scenario.trainer->pack_lengths == Variety::one) return false;
  return !keeps_one_degree(scenario, spec) || std::ranges::all_of(groups, [&](const GroupOption& one) {
    return one.group.sequence == groups.front().group.sequence;
  });
}

// The least time of an epoch's steps in addition to their packs. All steps may be as large as the largest,
// and a group may have no packs.
double steps_s(const Scenario& scenario, std::span<const GroupOption> groups, WorkFloors& floors) {
  const IterationSize size{scenario.training.tokens_per_iteration, floors.longest_tokens()};
  const std::int64_t most_tokens = std::max(size.most_tokens(), size.longest_tokens);
  const double n_steps = static_cast<double>(floors.n_tokens()) / static_cast<double>(most_tokens);
  double least_s = std::numeric_limits<double>::max();
  for (const GroupOption& one : groups)
    least_s = std::min(least_s, floors.step_s(one.plan, one.group.capacity_tokens));
  return n_steps * least_s;
}

// The least time of an epoch: the samples of each octave of length are in packs of the cheapest group that
// holds them. samples_of_pack: WorkFloors::of()'s.
double floor_s(const Scenario& scenario, std::int64_t samples_of_pack, const ParallelPlan& base,
               std::span<const GroupOption> groups, WorkFloors& floors) {
  std::vector<const WorkFloors::OfPacks*> of_groups;
  for (const GroupOption& one : groups)
    of_groups.push_back(&floors.of(one.plan, one.group.capacity_tokens, samples_of_pack));
  double gpu_s = 0;
  std::int64_t above_tokens = 0;
  while (above_tokens < groups.back().group.capacity_tokens) {
    const std::int64_t up_to =
        std::min(std::max<std::int64_t>(1, 2 * above_tokens), groups.back().group.capacity_tokens);
    double least_s = std::numeric_limits<double>::max();
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (groups[g].group.capacity_tokens < up_to && g + 1 < groups.size()) continue;
      const double of_group_s = of_groups[g]->gpu_s(above_tokens) - of_groups[g]->gpu_s(up_to);
      least_s = std::min(least_s, of_group_s);
    }
    gpu_s += least_s;
    above_tokens = up_to;
  }
  return gpu_s / packed_gpus(base) + steps_s(scenario, groups, floors);
}

double floor_s(const Scenario& scenario, const StrategySpec& spec, const ParallelPlan& base,
               std::span<const GroupOption> groups, WorkFloors& floors) {
  return floor_s(scenario, samples_of_pack(spec), base, groups, floors);
}

// Time of an epoch of full packs whose only idle time is that of filling a pipeline. Unlike floor_s() it is
// no bound: packs that are not full may take less.
double full_packs_s(const Scenario& scenario, const ParallelPlan& base, std::span<const GroupOption> groups,
                    WorkFloors& floors) {
  double gpu_s = 0;
  std::int64_t above_tokens = 0;
  for (const GroupOption& one : groups) {
    gpu_s += one.fill_factor * floors.of(one.plan, one.group.capacity_tokens).gpu_s(above_tokens);
    above_tokens = one.group.capacity_tokens;
  }
  return gpu_s / packed_gpus(base) + steps_s(scenario, groups, floors);
}

// The floor without any recomputation, which many plans share.
double shared_floor_s(const Scenario& scenario, const StrategySpec& spec, const ParallelPlan& base,
                      std::span<const GroupOption> groups, WorkFloors& floors) {
  const ParallelPlan root = root_of(base);
  std::vector<GroupOption> roots(groups.begin(), groups.end());
  for (GroupOption& one : roots) one.plan = group_plan(root, one.group, 0);
  return floor_s(scenario, spec, root, roots, floors);
}

// least_groups: the groups with only the checkpointed layers that are needed in any case.
void add_candidate(const Scenario& scenario, const StrategySpec& spec, const ParallelPlan& base,
                   std::span<const GroupOption> groups, std::span<const GroupOption> least_groups,
                   bool is_usual, WorkFloors& floors, PlanSpace& space) {
  PlanCandidate candidate{.spec = spec, .is_usual = is_usual};
  candidate.spec.searches_plan = false;
  candidate.spec.zero_stages.clear();
  candidate.spec.groups.clear();
  candidate.spec.plan = base;
  for (const GroupOption& one : groups) candidate.spec.groups.push_back(one.group);
  if (!groups.empty()) candidate.floor_s = shared_floor_s(scenario, spec, base, groups, floors);
  candidate.least_groups.assign(least_groups.begin(), least_groups.end());
  space.candidates.push_back(std::move(candidate));
}

std::vector<OptionValues> searched_options(const StrategySpec& spec, std::int64_t capacity_tokens) {
  const auto search = strategy_of(spec).searched_options;
  return search == nullptr ? std::vector<OptionValues>() : search(capacity_tokens);
}

// Whether the scenario gives some of these options.
bool gives_any(const StrategySpec& spec, const OptionValues& options) {
  return std::ranges::any_of(options.all(),
                             [&](const auto& one) { return spec.options.find(one.first) != nullptr; });
}

void set_options(StrategySpec& spec, const OptionValues& options) {
  for (const auto& [name, value] : options.all()) spec.options.set(name, value);
}

// The option with only the checkpointed layers that the longest sample alone needs, as no pack need be full.
GroupOption with_fewest_layers(const ParallelPlan& base, const GroupOption& option, GroupOptions& options) {
  GroupOption fewest = option;
  const std::int64_t tokens = std::min(options.longest_tokens(), option.group.capacity_tokens);
  fewest.plan.gc_layers = options.of(base, option.group.sequence, tokens).plan.gc_layers;
  return fewest;
}

// Whether these packs are as fast under a simpler plan: they fit there without recomputation, or with as few
// layers that recompute the same.
bool need_no_saving(std::span<const GroupOption> groups, std::span<const ParallelPlan* const> simpler,
                    GroupOptions& options) {
  return std::ranges::any_of(simpler, [&](const ParallelPlan* plan) {
    return std::ranges::all_of(groups, [&](const GroupOption& one) {
      const GroupOption& other = options.of(*plan, one.group.sequence, one.group.capacity_tokens);
      const bool recomputes_alike = plan->checkpointing == one.plan.checkpointing;
      const int most_layers = recomputes_alike && one.fits ? one.plan.gc_layers : 0;
      return other.fits && other.plan.gc_layers <= most_layers;
    });
  });
}

void add_one_group(const StrategySpec& spec, const ParallelPlan& base,
                   std::span<const ParallelPlan* const> simpler, GroupOptions& options, WorkFloors& floors,
                   PlanSpace& space) {
  const Scenario& scenario = options.scenario();
  const std::int64_t longest_tokens = options.longest_tokens();
  bool has_usual = !is_usual_base(scenario, spec, base);
  const std::vector<GroupOption>& groups = options.all(base);
  const bool fills = std::ranges::any_of(groups, [&](const GroupOption& one) {
    return one.fills_iteration && one.group.capacity_tokens >= longest_tokens;
  });
  for (const GroupOption& one : groups) {
    if (one.group.capacity_tokens < longest_tokens) continue;
    const bool is_right_length = one.fills_iteration || one.is_above_share || !fills;
    if (!is_right_length && !forms_iterations(spec)) continue;
    if (need_no_saving({&one, 1}, simpler, options)) continue;
    // With all samples, what counts is whether the packs fit that are made of them.
    if (!(one.is_above_share && floors.are_of_all_samples() ? one.may_fit : one.fits)) {
      ++space.n_too_large;
      continue;
    }
    const GroupOption fewest = with_fewest_layers(base, one, options);
    add_candidate(scenario, spec, base, {&one, 1}, {&fewest, 1}, !std::exchange(has_usual, true), floors,
                  space);
    const PlanCandidate of_defaults = space.candidates.back();
    const std::vector<OptionValues> searched = searched_options(spec, one.group.capacity_tokens);
    for (std::size_t i = 0; i < searched.size(); ++i) {
      if (gives_any(spec, searched[i])) continue;
      PlanCandidate& other = space.candidates.emplace_back(of_defaults);
      other.is_usual = false;
      other.option_set = i + 1;
      set_options(other.spec, searched[i]);
      other.floor_s = shared_floor_s(scenario, other.spec, base, {&fewest, 1}, floors);
    }
  }
}

void add_group_sets(const StrategySpec& spec, const ParallelPlan& base,
                    std::span<const ParallelPlan* const> simpler, GroupOptions& options, WorkFloors& floors,
                    PlanSpace& space) {
  const Scenario& scenario = options.scenario();
  // With more groups, packs fit better; with fewer, fewer iterations are not full, which matters for few
  // data. So the best sets of all are candidates, and the best of each number of groups.
  constexpr std::size_t kMostSets = 12;
  constexpr std::size_t kMostOfSize = 4;
  struct RatedSet {
    std::vector<GroupOption> groups;
    double full_packs_s = 0;
  };
  std::vector<RatedSet> sets;
  for (std::vector<GroupOption>& groups : group_sets(options.all(base), options.longest_tokens(), floors)) {
    if (!may_run_together(scenario, spec, groups)) continue;
    if (need_no_saving(groups, simpler, options)) continue;
    const double of_set_s = full_packs_s(scenario, base, groups, floors);
    sets.push_back({std::move(groups), of_set_s});
  }
  std::ranges::stable_sort(sets, {}, &RatedSet::full_packs_s);
  std::map<std::size_t, std::size_t> n_of_size;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const std::vector<GroupOption>& groups = sets[i].groups;
    const bool is_of_best = groups.size() == 1 || n_of_size[groups.size()]++ < kMostOfSize;
    if (i < kMostSets || is_of_best)
      add_candidate(scenario, spec, base, groups, groups, false, floors, space);
  }
  std::vector<GroupOption> usual;
  const bool is_usual = is_usual_base(scenario, spec, base);
  if (is_usual) {
    for (const GroupSpec& group : spec.groups)
      usual.push_back(options.of(base, group.sequence, group.capacity_tokens));
  }
  if (!simpler.empty()) return;
  if (usual.empty()) usual = groups_of_algorithm_1(base, options, floors);
  if (!may_run_together(scenario, spec, usual)) return;
  if (usual.empty()) {
    ++space.n_too_large;
    return;
  }
  add_candidate(scenario, spec, base, usual, usual, is_usual, floors, space);
}

// The numbers of checkpointed layers and the ways to share packs for which there are groups of all degrees;
// the usual ones first.
std::vector<std::pair<int, Sharing>> variants(const Transformer& model) {
  std::vector<std::pair<int, Sharing>> variants;
  for (int depth = kDepths; depth >= 0; --depth) {
    for (const Sharing sharing : {Sharing::ulysses, Sharing::node, Sharing::ring})
      variants.emplace_back(model.n_layers * depth / kDepths, sharing);
  }
  return variants;
}

// For a trainer that has one degree in a run, a group for each degree and depth.
void add_single_groups(const StrategySpec& spec, const ParallelPlan& base, GroupOptions& options,
                       WorkFloors& floors, PlanSpace& space) {
  std::vector<GroupSpec> seen;
  bool has_usual = !is_usual_base(options.scenario(), spec, base);
  for (const auto& [gc_layers, sharing] : variants(options.scenario().model)) {
    for (const GroupOption& one : options.of_depth(base, gc_layers, sharing)) {
      if (one.group.capacity_tokens < options.longest_tokens()) {
        ++space.n_too_large;
        continue;
      }
      if (std::ranges::find(seen, one.group) != seen.end()) continue;
      seen.push_back(one.group);
      const GroupOption fewest = with_fewest_layers(base, one, options);
      add_candidate(options.scenario(), spec, base, {&one, 1}, {&fewest, 1}, !std::exchange(has_usual, true),
                    floors, space);
    }
  }
}

void add_mixed(const StrategySpec& spec, const ParallelPlan& base, GroupOptions& options, WorkFloors& floors,
               PlanSpace& space) {
  const Scenario& scenario = options.scenario();
  const std::int64_t longest_tokens = options.longest_tokens();
  const bool one_degree = base.pp_degree > 1 || base.ep_degree > 1 || keeps_one_degree(scenario, spec);
  bool has_usual = !is_usual_base(scenario, spec, base);
  std::vector<std::vector<GroupSpec>> seen;
  const auto add = [&](std::span<const GroupOption> groups) {
    // With all samples, groups get the checkpointed layers that their packs need, which may be none.
    std::vector<GroupOption> fewest(groups.begin(), groups.end());
    if (floors.are_of_all_samples()) {
      for (GroupOption& one : fewest) one.plan.gc_layers = 0;
    }
    add_candidate(scenario, spec, base, groups, fewest, !std::exchange(has_usual, true), floors, space);
    const std::vector<GroupSpec>& specs = space.candidates.back().spec.groups;
    if (std::ranges::find(seen, specs) != seen.end()) {
      space.candidates.pop_back();
    } else {
      seen.push_back(specs);
    }
  };
  for (const auto& [gc_layers, sharing] : variants(scenario.model)) {
    const std::vector<GroupOption>& groups = options.of_depth(base, gc_layers, sharing);
    if (groups.empty() || groups.back().group.capacity_tokens < longest_tokens) {
      ++space.n_too_large;
    } else if (!one_degree) {
      add(groups);
    } else {
      for (const GroupOption& one : groups) {
        if (one.group.capacity_tokens >= longest_tokens) add({&one, 1});
      }
    }
  }
}

// The longest packs, with nothing checkpointed.
GroupOption longest_group(const ParallelPlan& base, const SequenceParallelism& sequence,
                          const GroupOptions& options) {
  GroupOption one;
  one.group = {.capacity_tokens = options.longest_pack(base, sequence), .sequence = sequence, .gc_layers = 0};
  one.plan = group_plan(base, one.group, 0);
  return one;
}

}  // namespace

std::vector<PlanCandidate> with_other_options(const PlanCandidate& candidate, const OptionValues& given) {
  PlanCandidate plain = candidate;
  plain.is_usual = false;
  plain.option_set = 0;
  plain.spec.options = given;
  const std::vector<OptionValues> searched =
      searched_options(plain.spec, plain.spec.groups.back().capacity_tokens);
  std::vector<PlanCandidate> others(searched.empty() ? 0 : 1, plain);
  for (std::size_t i = 0; i < searched.size(); ++i) {
    if (gives_any(plain.spec, searched[i])) continue;
    others.push_back(plain);
    others.back().option_set = i + 1;
    set_options(others.back().spec, searched[i]);
  }
  std::erase_if(others, [&](const PlanCandidate& one) { return one.option_set == candidate.option_set; });
  return others;
}

std::optional<PlanCandidate> with_packs(const PlanCandidate& candidate, const ParallelPlan& base,
                                        std::span<const GroupSpec> groups, GroupOptions& options,
                                        WorkFloors& floors) {
  std::vector<GroupOption> made;
  for (const GroupSpec& group : groups)
    made.push_back(options.of(base, group.sequence, group.capacity_tokens));
  // With all samples, what counts is whether the packs fit that are made of them.
  const bool may_fit =
      floors.are_of_all_samples() ? made.back().may_fit : std::ranges::all_of(made, &GroupOption::fits);
  if (!may_fit) return std::nullopt;
  PlanCandidate changed = candidate;
  changed.is_usual = false;
  changed.spec.plan = base;
  changed.spec.groups.clear();
  for (const GroupOption& one : made) changed.spec.groups.push_back(one.group);
  if (candidate.option_set > 0)
    set_options(changed.spec,
                searched_options(candidate.spec, groups.back().capacity_tokens)[candidate.option_set - 1]);
  // The layers that are checkpointed in any case.
  if (made.size() == 1) {
    made.front() = with_fewest_layers(base, made.front(), options);
  } else if (floors.are_of_all_samples()) {
    for (GroupOption& one : made) one.plan.gc_layers = 0;
  }
  changed.floor_s = floor_s(options.scenario(), changed.spec, base, made, floors);
  changed.least_groups.clear();
  return changed;
}

double least_s(const ParallelPlan& base, GroupOptions& options, WorkFloors& floors) {
  std::vector<GroupOption> groups;
  for (const SequenceParallelism& sequence : options.sequences(base))
    groups.push_back(longest_group(base, sequence, options));
  if (groups.empty()) return std::numeric_limits<double>::infinity();
  std::ranges::stable_sort(groups, {}, [](const GroupOption& one) { return one.group.capacity_tokens; });
  return floor_s(options.scenario(), 0, base, groups, floors);
}

double own_floor_s(const PlanCandidate& candidate, const Scenario& scenario, WorkFloors& floors) {
  return std::max(candidate.floor_s,
                  floor_s(scenario, candidate.spec, *candidate.spec.plan, candidate.least_groups, floors));
}

double steps_s(const ParallelPlan& base, GroupOptions& options, WorkFloors& floors) {
  const std::vector<SequenceParallelism> sequences = options.sequences(base);
  if (sequences.empty()) return std::numeric_limits<double>::infinity();
  const GroupOption one = longest_group(base, sequences.front(), options);
  return steps_s(options.scenario(), {&one, 1}, floors);
}

void add_plans(const StrategySpec& spec, const ParallelPlan& base,
               std::span<const ParallelPlan* const> simpler, GroupOptions& options, WorkFloors& floors,
               PlanSpace& space) {
  const Strategy& strategy = strategy_of(spec);
  if (strategy.chooses_groups && has_one_degree(options.scenario())) {
    add_single_groups(spec, base, options, floors, space);
  } else if (strategy.chooses_groups) {
    const bool is_usual = is_usual_base(options.scenario(), spec, base);
    add_candidate(options.scenario(), spec, base, {}, {}, is_usual, floors, space);
    space.candidates.back().floor_s = least_s(base, options, floors);
  } else if (strategy.mixes_groups) {
    add_mixed(spec, base, options, floors, space);
  } else if (strategy.pack_groups != nullptr) {
    add_group_sets(spec, base, simpler, options, floors, space);
  } else {
    add_one_group(spec, base, simpler, options, floors, space);
  }
}

}  // namespace packsim
