#include "experiment/plans/batch_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "experiment/plans/plan_group.hpp"
#include "experiment/pricers/job_of.hpp"
#include "models/state_traffic.hpp"
#include "packing/flexsp/options.hpp"
#include "planning/group_selection/candidate_groups.hpp"
#include "sim/run/plan_cost.hpp"

namespace packsim {
namespace {

// The cost of the group's packs, with the checkpointed layers that full ones need.
PackCost price_of(const Scenario& scenario, const ParallelPlan& base, const GroupSpec& group,
                  ScenarioPricers& pricers) {
  const PlannedGroup full = plan_group(scenario, base, group, group.capacity_tokens, base.pp_degree);
  return pricers.cost(group_plan(base, group, full.gc_layers), group.capacity_tokens).pack;
}

BatchRun empty_run(const Scenario& scenario, const StrategySpec& spec) {
  BatchRun run;
  run.setting = unpriced_setting(scenario, spec);
  // Experts of several ranks meet in every layer.
  const ParallelPlan& plan = base_plan(scenario, spec);
  run.setting.rounds_in_step = reduces_every_micro_batch(plan) || plan.ep_degree > 1;
  run.solver = std::make_unique<CbcAssignmentSolver>(
      CbcOptions{.integer_program = spec.options[flexsp::kIntegerPrograms]});
  run.setting.solver = run.solver.get();
  return run;
}

double full_pack_s(const CandidateGroup& candidate) {
  return candidate.group.cost.tokens_s.at(candidate.group.capacity_tokens);
}

// What a step takes in addition to its packs, as a line in the time of a pack.
struct StepLine {
  double step_s = 0;   // without packs
  double of_pack = 0;  // times the time of the mean pack
};

// Stages of a pipeline differ, so filling it takes less or more time than packs of the slowest stage. The
// line is fitted by least squares to the candidates, whose packs have many sizes.
StepLine pipeline_line(std::span<const CandidateGroup> candidates) {
  const auto n = static_cast<double>(candidates.size());
  double sum_x = 0;
  double sum_y = 0;
  double sum_xx = 0;
  double sum_xy = 0;
  for (const CandidateGroup& candidate : candidates) {
    const double pack_s = full_pack_s(candidate);
    sum_x += pack_s;
    sum_y += candidate.step_s;
    sum_xx += pack_s * pack_s;
    sum_xy += pack_s * candidate.step_s;
  }
  const double spread = n * sum_xx - sum_x * sum_x;
  if (spread <= 1e-6 * n * sum_xx) return {.step_s = sum_y / n};
  const double slope = (n * sum_xy - sum_x * sum_y) / spread;
  return {.step_s = (sum_y - slope * sum_x) / n, .of_pack = slope};
}

// Time of what a step sends beside its first and last packs, as packs show that are too short to hide it.
double hidden_s(const CandidateGroup& candidate, const StepLine& line) {
  const double more_s = candidate.short_step_s - line.step_s - line.of_pack * candidate.short_pack_s;
  return more_s > 0 ? more_s + candidate.short_pack_s : 0;
}

BatchRun run_of(const Scenario& scenario, const StrategySpec& spec,
                std::span<const CandidateGroup> candidates) {
  BatchRun run = empty_run(scenario, spec);
  const ParallelPlan& plan = base_plan(scenario, spec);
  run.setting.one_degree = plan.pp_degree > 1 || plan.ep_degree > 1;
  run.setting.one_group_in_round = plan.ep_degree > 1;
  run.setting.rounds = {.fill_rounds = fill_rounds(plan),
                        .multiple = plan.schedule().needs_full_rounds ? plan.pp_degree : 1};
  run.setting.groups.clear();
  for (const CandidateGroup& candidate : candidates) {
    run.groups.push_back({.capacity_tokens = candidate.group.capacity_tokens,
                          .sequence = candidate.plan.sequence,
                          .gc_layers = candidate.plan.gc_layers});
    run.setting.groups.push_back(candidate.group);
  }
  // The shortest packs hide the least of what is sent beside them.
  const auto shortest = std::ranges::min_element(candidates, {}, full_pack_s);
  run.setting.step_s = shortest->step_s;
  const StepLine line =
      plan.pp_degree > 1 ? pipeline_line(candidates) : StepLine{.step_s = run.setting.step_s};
  run.setting.step_s = line.step_s;
  run.setting.rounds.fill_rounds = std::max(0.0, run.setting.rounds.fill_rounds + line.of_pack);
  run.setting.hidden_s = hidden_s(candidates.front(), line);
  return run;
}

// Keeps the candidates that run as one of the groups does, which were chosen for other samples: those of the
// same degrees and checkpointed layers. Capacities follow from these, unless the longest sample limits them.
void keep_candidates(std::span<const GroupSpec> groups, std::vector<CandidateGroup>& candidates) {
  std::erase_if(candidates, [&](const CandidateGroup& candidate) {
    return std::ranges::none_of(groups, [&](const GroupSpec& group) {
      return group.sequence == candidate.plan.sequence && group.gc_layers == candidate.plan.gc_layers;
    });
  });
}

// The only group of a trainer that has one degree in a run, with the checkpointed layers that full packs
// need.
CandidateGroup only_candidate(const Scenario& scenario, const ParallelPlan& base, const GroupSpec& group,
                              ScenarioPricers& pricers) {
  const PlannedGroup full = plan_group(scenario, base, group, group.capacity_tokens, base.pp_degree);
  return candidate_group(job_of(scenario), group_plan(base, group, full.gc_layers), group.capacity_tokens,
                         pricers.store());
}

std::optional<BatchRun> chosen_run(const Scenario& scenario, const StrategySpec& spec,
                                   std::int64_t longest_tokens, ScenarioPricers& pricers) {
  std::int64_t longest = std::min(longest_tokens, spec.longest_tokens.value_or(longest_tokens));
  if (!spec.groups.empty()) longest = spec.groups.back().capacity_tokens;
  const ParallelPlan& plan = base_plan(scenario, spec);
  const std::int64_t share = scenario.training.tokens_per_iteration / packed_gpus(plan);
  std::vector<CandidateGroup> candidates;
  if (has_one_degree(scenario) && !spec.groups.empty()) {
    candidates = {only_candidate(scenario, plan, spec.groups.front(), pricers)};
  } else {
    candidates = candidate_groups(job_of(scenario), plan, {.longest_tokens = longest, .share_tokens = share},
                                  pricers.store());
    if (!spec.groups.empty()) keep_candidates(spec.groups, candidates);
  }
  if (candidates.empty()) return std::nullopt;
  return run_of(scenario, spec, candidates);
}

}  // namespace

BatchSetting unpriced_setting(const Scenario& scenario, const StrategySpec& spec) {
  BatchSetting setting{.groups = {},
                       .n_gpus = packed_gpus(base_plan(scenario, spec)),
                       .tokens_per_iteration = scenario.training.tokens_per_iteration};
  for (const GroupSpec& group : spec.groups)
    setting.groups.push_back({group.capacity_tokens, group.sequence.gpus_per_pack(), {}});
  return setting;
}

std::optional<BatchRun> batch_run(const Scenario& scenario, const StrategySpec& spec,
                                  std::int64_t longest_tokens, ScenarioPricers& pricers) {
  if (chooses_groups(spec)) return chosen_run(scenario, spec, longest_tokens, pricers);
  BatchRun run = empty_run(scenario, spec);
  run.groups = spec.groups;
  for (std::size_t g = 0; g < run.groups.size(); ++g)
    run.setting.groups[g].cost = price_of(scenario, base_plan(scenario, spec), run.groups[g], pricers);
  return run;
}

void drop_empty_groups(Packing& packing, std::vector<GroupSpec>& groups) {
  std::vector<std::uint16_t> kept_as(groups.size());
  std::size_t n = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (packing.groups[g].n_packs() == 0) continue;
    kept_as[g] = static_cast<std::uint16_t>(n);
    if (n != g) {
      groups[n] = groups[g];
      packing.groups[n] = std::move(packing.groups[g]);
      packing.capacities_tokens[n] = packing.capacities_tokens[g];
    }
    ++n;
  }
  // One group stays, so that there is something to show.
  n = std::max<std::size_t>(n, 1);
  groups.resize(n);
  packing.groups.resize(n);
  packing.capacities_tokens.resize(n);
  for (PlacedPack& placed : packing.planned.placed) placed.group = kept_as[placed.group];
}

}  // namespace packsim
