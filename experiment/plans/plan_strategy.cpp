#include "experiment/plans/plan_strategy.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <stdexcept>

#include "experiment/plans/batch_run.hpp"
#include "experiment/plans/plan_group.hpp"
#include "experiment/plans/repack.hpp"
#include "experiment/plans/stopwatch.hpp"
#include "experiment/pricers/job_of.hpp"
#include "models/state_traffic.hpp"
#include "packing/options/shared_options.hpp"
#include "planning/planned_time.hpp"

namespace packsim {

PackRequest pack_request(const StrategySpec& spec, std::span<const GroupSpec> groups,
                         std::span<const std::int32_t> lengths_tokens) {
  PackRequest request{.lengths_tokens = lengths_tokens,
                      .capacities_tokens = {},
                      .over_long = spec.over_long,
                      .longest_tokens = spec.longest_tokens.value_or(0),
                      .empty = spec.empty,
                      .window_samples = spec.window_samples,
                      .options = spec.options};
  for (const GroupSpec& group : groups) request.capacities_tokens.push_back(group.capacity_tokens);
  return request;
}

namespace {

std::int64_t longest_of(std::span<const std::int32_t> lengths_tokens) {
  return lengths_tokens.empty() ? 0 : *std::ranges::max_element(lengths_tokens);
}

// The packs of a strategy that forms iterations, in the groups that it was given or has chosen.
struct FormedPacks {
  std::vector<GroupSpec> groups;
  Packing packing;
  std::vector<SolveRecord> solves = {};
  double planned_s = 0;  // of an epoch, where the strategy chose its groups

  std::int64_t lost_tokens() const { return packing.counts.dropped_tokens + packing.counts.truncated_tokens; }
};

FormedPacks form_packs(BatchRun run, const StrategySpec& spec, std::span<const std::int32_t> lengths_tokens) {
  PackRequest request = pack_request(spec, run.groups, lengths_tokens);
  request.setting = &run.setting;
  FormedPacks formed{
      .groups = std::move(run.groups), .packing = pack(spec.strategy, request), .solves = run.solver->log()};
  if (!chooses_groups(spec)) return formed;
  formed.planned_s = planned_time_s(formed.packing, run.setting) +
                     run.setting.step_s * static_cast<double>(formed.packing.planned.iterations.size());
  drop_empty_groups(formed.packing, formed.groups);
  return formed;
}

// The packs of a strategy that only packs.
PackedData pack_alone(const StrategySpec& spec, std::span<const std::int32_t> lengths_tokens,
                      PackCache* known) {
  const auto make = [&] {
    return packed_data(spec, pack(spec.strategy, pack_request(spec, spec.groups, lengths_tokens)));
  };
  if (known == nullptr) return make();
  const auto packed = known->packed(spec, [&] {
    PackedData data = make();
    data.attentions = std::make_shared<PackAttentions>();
    return data;
  });
  return {.packing = packed->packing.clone(), .batches = packed->batches, .attentions = packed->attentions};
}

PlacedPacks place_packs(const Scenario& scenario, const StrategySpec& spec, std::span<const GroupSpec> groups,
                        const PackedData& packed, PackCache* known = nullptr) {
  const Stopwatch watch;
  std::vector<GroupParallelism> parallelism;
  for (const GroupSpec& group : groups)
    parallelism.push_back({.gpus_per_pack = group.sequence.gpus_per_pack()});
  const bool by_tokens = !spec.micro_batches_per_rank.has_value();
  const ScheduleOptions options{
      .n_gpus = packed_gpus(base_plan(scenario, spec)),
      .tokens_per_iteration = by_tokens ? scenario.training.tokens_per_iteration : 0,
      .micro_batches_per_rank = spec.micro_batches_per_rank.value_or(1),
      .order = spec.order,
      .last_iteration = spec.last_iteration,
      .curriculum_iterations = spec.curriculum_iterations,
      .epochs = scenario.training.epochs,
      .seed = static_cast<std::uint32_t>(spec.options[kSeed])};
  const Packing& packing = packed.packing;
  const auto make = [&] {
    PlacedPacks placed{
        .schedule = packing.planned.iterations.empty()
                        ? make_schedule(packed.batches, packing.capacities_tokens, parallelism, options)
                        : make_schedule(packing.planned, packed.batches, parallelism, options),
        .uses = {}};
    placed.uses = count_pack_uses(packed.batches, placed.schedule);
    return placed;
  };
  PlacedPacks placed = known != nullptr ? *known->placed(spec, options, make) : make();
  placed.scheduling_s = watch.seconds();
  return placed;
}

PlannedStrategy schedule_packs(const Scenario& scenario, const StrategySpec& spec,
                               std::span<const GroupSpec> groups, PackedData packed, double packing_s,
                               PackCache* known = nullptr) {
  packed.packing_s = packing_s;
  PlacedPacks placed = place_packs(scenario, spec, groups, packed, known);
  return planned_strategy(scenario, spec, groups, std::move(packed), std::move(placed));
}

PlannedStrategy schedule_formed(const Scenario& scenario, const StrategySpec& spec, FormedPacks formed,
                                double packing_s) {
  PackedData packed = packed_data(spec, std::move(formed.packing));
  packed.solves = std::move(formed.solves);
  return schedule_packs(scenario, spec, formed.groups, std::move(packed), packing_s);
}

}  // namespace

PlannedStrategy schedule_packing(const Scenario& scenario, const StrategySpec& spec, Packing packing,
                                 std::span<const GroupSpec> groups) {
  return schedule_packs(scenario, spec, groups, packed_data(spec, std::move(packing)), 0);
}

PlannedStrategy plan_what_does_not_fit(const Scenario& scenario, const StrategySpec& spec,
                                       std::span<const std::int32_t> lengths_tokens) {
  const Stopwatch packing_watch;
  GroupSpec group;
  group.capacity_tokens = std::max<std::int64_t>(1, spec.longest_tokens.value_or(longest_of(lengths_tokens)));
  const ParallelPlan& base = base_plan(scenario, spec);
  for (const SequenceParallelism& sequence : ways_to_share(job_of(scenario), base)) {
    if (sequence.gpus_per_pack() > group.sequence.gpus_per_pack()) group.sequence = sequence;
  }
  Packing packing = pack("bfd", pack_request(spec, {&group, 1}, lengths_tokens));
  packing.strategy = find_strategy(spec.strategy);
  return schedule_packs(scenario, spec, {&group, 1}, packed_data(spec, std::move(packing)),
                        packing_watch.seconds());
}

namespace {

// Plans a strategy that forms iterations at the ZeRO stage of its own plan.
PlannedStrategy plan_at(const Scenario& scenario, const StrategySpec& spec,
                        std::span<const std::int32_t> lengths_tokens, ScenarioPricers& pricers,
                        const Stopwatch& packing_watch) {
  std::optional<BatchRun> run = batch_run(scenario, spec, longest_of(lengths_tokens), pricers);
  if (!run) return plan_what_does_not_fit(scenario, spec, lengths_tokens);
  FormedPacks formed = form_packs(std::move(*run), spec, lengths_tokens);
  return schedule_formed(scenario, spec, std::move(formed), packing_watch.seconds());
}

// Plans it at the ZeRO stage that loses the fewest tokens and then takes the least time, among those that it
// may choose. Stages differ in the longest samples that they hold.
PlannedStrategy best_stage(const Scenario& scenario, const StrategySpec& spec,
                           std::span<const std::int32_t> lengths_tokens, ScenarioPricers& pricers,
                           const Stopwatch& packing_watch) {
  const auto is_better = [](const FormedPacks& one, const FormedPacks& other) {
    if (one.lost_tokens() != other.lost_tokens()) return one.lost_tokens() < other.lost_tokens();
    return one.planned_s < other.planned_s;
  };
  StrategySpec best_spec;
  std::optional<FormedPacks> best;
  std::exception_ptr refused;  // samples that no pack of a stage holds
  for (const int zero_stage : spec.zero_stages) {
    StrategySpec at_stage = spec;
    at_stage.plan = with_zero_stage(base_plan(scenario, spec), zero_stage);
    std::optional<BatchRun> run = batch_run(scenario, at_stage, longest_of(lengths_tokens), pricers);
    if (!run) continue;
    try {
      FormedPacks formed = form_packs(std::move(*run), spec, lengths_tokens);
      if (best && !is_better(formed, *best)) continue;
      best = std::move(formed);
      best_spec = std::move(at_stage);
    } catch (const std::invalid_argument&) {
      if (!refused) refused = std::current_exception();
    }
  }
  if (best) return schedule_formed(scenario, best_spec, std::move(*best), packing_watch.seconds());
  if (refused) std::rethrow_exception(refused);
  StrategySpec first = spec;
  first.plan = with_zero_stage(base_plan(scenario, spec), spec.zero_stages.front());
  return plan_what_does_not_fit(scenario, first, lengths_tokens);
}

}  // namespace

PlannedStrategy plan_strategy(const Scenario& scenario, const StrategySpec& spec,
                              std::span<const std::int32_t> lengths_tokens, ScenarioPricers& pricers,
                              PackCache* known) {
  if (spec.repack_each_epoch && scenario.training.epochs > 1)
    return plan_each_epoch(scenario, spec, lengths_tokens, pricers);
  const Stopwatch packing_watch;
  if (!forms_iterations(spec)) {
    PackedData packed = pack_alone(spec, lengths_tokens, known);
    return schedule_packs(scenario, spec, spec.groups, std::move(packed), packing_watch.seconds(), known);
  }
  if (spec.zero_stages.empty()) return plan_at(scenario, spec, lengths_tokens, pricers, packing_watch);
  return best_stage(scenario, spec, lengths_tokens, pricers, packing_watch);
}

PlannedStrategy plan_strategy(const Scenario& scenario, const StrategySpec& spec,
                              std::span<const std::int32_t> lengths_tokens) {
  ScenarioPricers pricers(scenario);
  return plan_strategy(scenario, spec, lengths_tokens, pricers);
}

}  // namespace packsim
