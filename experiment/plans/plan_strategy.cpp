#include "experiment/plans/plan_strategy.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <stdexcept>

#include "experiment/plans/batch_run.hpp"
#include "experiment/plans/repack.hpp"
#include "experiment/plans/stopwatch.hpp"
#include "models/memory/peak_memory.hpp"
#include "models/pipeline_chunks.hpp"
#include "models/state_traffic.hpp"
#include "packing/options/shared_options.hpp"
#include "packing/schedule/pack_use_counts.hpp"
#include "planning/planned_time.hpp"

namespace packsim {
namespace {

// The largest micro-batch decides what fits.
std::int64_t most_tokens(std::span<const MicroBatch> batches) {
  std::int64_t most = 0;
  for (const MicroBatch& batch : batches) most = std::max(most, batch.tokens + batch.padded_tokens);
  return most;
}

}  // namespace

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

int packed_gpus(const ParallelPlan& plan) {
  return plan.state_gpus();
}

MemoryAssumptions memory_assumptions(const Scenario& scenario) {
  const FrameworkFactors& factors = scenario.profile.factors;
  return {.reserved_bytes = factors.reserved_bytes,
          .logits_bytes_per_vocab_entry = factors.logits_bytes_per_vocab_entry};
}

PlannedGroup plan_group(const Scenario& scenario, const ParallelPlan& base, const GroupSpec& group,
                        std::int64_t pack_tokens, int n_micro_batches) {
  const MemoryAssumptions assumptions = memory_assumptions(scenario);
  ParallelPlan plan = group_plan(base, group, 0);
  const double tokens_per_gpu = static_cast<double>(pack_tokens) / plan.sequence_gpus();
  const std::optional<int> fewest =
      fewest_gc_layers(scenario.model, scenario.cluster, plan, assumptions, tokens_per_gpu, n_micro_batches);
  plan.gc_layers = group.gc_layers.value_or(fewest.value_or(scenario.model.n_layers));
  // Chunks of a pipeline checkpoint alike, which may make more of them.
  int n_checkpointed = 0;
  for (const PipelineChunk& chunk : pipeline_chunks(scenario.model, plan))
    n_checkpointed += chunk.n_checkpointed;
  plan.gc_layers = n_checkpointed;
  PlannedGroup result;
  result.capacity_tokens = group.capacity_tokens;
  result.sequence = group.sequence;
  result.gc_layers = plan.gc_layers;
  result.zero_stage = plan.zero_stage;
  result.memory =
      peak_memory(scenario.model, scenario.cluster, plan, assumptions, tokens_per_gpu, n_micro_batches);
  result.peak_memory_bytes = result.memory.total_bytes();
  result.gpu_memory_bytes = static_cast<double>(scenario.cluster.gpu.memory_bytes);
  result.feasible = fits(scenario.cluster, result.memory);
  return result;
}

void set_groups(const Scenario& scenario, const StrategySpec& spec, std::span<const GroupSpec> groups,
                std::span<const int> n_micro_batches, PlannedStrategy& plan) {
  const ParallelPlan& base = base_plan(scenario, spec);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (plan.batches.size() == g)
      plan.batches.push_back(micro_batches(plan.packing, g, spec.padding, spec.pad_multiple_tokens));
    plan.groups.push_back(
        plan_group(scenario, base, groups[g], most_tokens(plan.batches[g]), n_micro_batches[g]));
    plan.plans.push_back(group_plan(base, groups[g], plan.groups[g].gc_layers));
  }
}

void count_trained_groups(PlannedStrategy& plan) {
  const bool plans_batches = !plan.packing.planned.iterations.empty();
  if (plan.uses.of_pack.empty()) plan.uses = count_pack_uses(plan.batches, plan.schedule);
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    PlannedGroup& group = plan.groups[g];
    const GroupPlan& scheduled = plan.schedule.groups[g];
    group.packs = static_cast<std::int64_t>(plan.batches[g].size());
    group.n_dp_ranks = scheduled.n_dp_ranks;
    if (!plans_batches) group.micro_batches_per_rank = scheduled.micro_batches_per_rank;
    group.iterations = plan.uses.iterations[g];
  }
}

void set_scheduled_groups(const Scenario& scenario, const StrategySpec& spec,
                          std::span<const GroupSpec> groups, PlannedStrategy& plan) {
  const bool plans_batches = !plan.packing.planned.iterations.empty();
  std::vector<int> n_micro_batches;
  for (const GroupPlan& group : plan.schedule.groups) {
    n_micro_batches.push_back(plans_batches ? most_rounds(plan.schedule.placed)
                                            : group.micro_batches_per_rank);
  }
  set_groups(scenario, spec, groups, n_micro_batches, plan);
  count_trained_groups(plan);
}

int most_rounds(std::span<const PlacedPack> placed) {
  int most = 1;
  for (const PlacedPack& pack : placed) most = std::max(most, pack.round + 1);
  return most;
}

namespace {

// Packs, and how each group of them runs.
struct Packed {
  Packing packing;
  GroupBatches batches = {};  // made from the packs where they are not there
  std::shared_ptr<PackAttentions> attentions = {};
  std::vector<GroupSpec> groups;
  std::vector<SolveRecord> solves = {};
  double planned_s = 0;  // of an epoch, where the strategy chose its groups
};

Packed plan_batches(BatchRun run, const StrategySpec& spec, std::span<const std::int32_t> lengths_tokens) {
  const Strategy& strategy = *find_strategy(spec.strategy);
  PackRequest request = pack_request(spec, run.groups, lengths_tokens);
  request.setting = &run.setting;
  Packed packed{
      .packing = pack(spec.strategy, request), .groups = std::move(run.groups), .solves = run.solver->log()};
  if (!strategy.chooses_groups) return packed;
  packed.planned_s = planned_time_s(packed.packing, run.setting) +
                     run.setting.step_s * static_cast<double>(packed.packing.planned.iterations.size());
  drop_empty_groups(packed.packing, packed.groups);
  return packed;
}

PlannedStrategy schedule_packs(const Scenario& scenario, const StrategySpec& spec, Packed packed,
                               double packing_s, PackCache* known = nullptr) {
  PlannedStrategy plan;
  plan.packing = std::move(packed.packing);
  plan.batches = std::move(packed.batches);
  plan.attentions = std::move(packed.attentions);
  plan.packing.attention = spec.attention;
  plan.solves = std::move(packed.solves);
  plan.packing_s = packing_s;
  const bool plans_batches = !plan.packing.planned.iterations.empty();
  const Stopwatch scheduling_watch;
  const int n_gpus = packed_gpus(base_plan(scenario, spec));
  std::vector<int> n_micro_batches;
  for (const GroupSpec& group : packed.groups) {
    n_micro_batches.push_back(plans_batches
                                  ? most_rounds(plan.packing.planned.placed)
                                  : spec.micro_batches_per_rank.value_or(micro_batches_that_fit(
                                        scenario.training.tokens_per_iteration,
                                        n_gpus / group.sequence.gpus_per_pack(), group.capacity_tokens)));
  }
  set_groups(scenario, spec, packed.groups, n_micro_batches, plan);
  std::vector<GroupParallelism> parallelism;
  for (std::size_t g = 0; g < packed.groups.size(); ++g) {
    parallelism.push_back(
        {.gpus_per_pack = packed.groups[g].sequence.gpus_per_pack(), .gc_layers = plan.groups[g].gc_layers});
  }
  const bool by_tokens = !spec.micro_batches_per_rank.has_value();
  const ScheduleOptions options{
      .n_gpus = n_gpus,
      .tokens_per_iteration = by_tokens ? scenario.training.tokens_per_iteration : 0,
      .micro_batches_per_rank = spec.micro_batches_per_rank.value_or(1),
      .order = spec.order,
      .last_iteration = spec.last_iteration,
      .curriculum_iterations = spec.curriculum_iterations,
      .epochs = scenario.training.epochs,
      .seed = static_cast<std::uint32_t>(spec.options[kSeed])};
  if (known != nullptr) {
    const auto scheduled = known->scheduled(spec, options, [&] {
      ScheduledPacks made{
          .schedule = make_schedule(plan.batches, plan.packing.capacities_tokens, parallelism, options),
          .uses = {}};
      made.uses = count_pack_uses(plan.batches, made.schedule);
      return made;
    });
    plan.schedule = scheduled->schedule;
    plan.uses = scheduled->uses;
    for (std::size_t g = 0; g < parallelism.size(); ++g)
      plan.schedule.groups[g].gc_layers = parallelism[g].gc_layers;
  } else {
    plan.schedule = plans_batches
                        ? make_schedule(plan.packing.planned, plan.batches, parallelism, options)
                        : make_schedule(plan.batches, plan.packing.capacities_tokens, parallelism, options);
  }
  count_trained_groups(plan);
  plan.scheduling_s = scheduling_watch.seconds();
  return plan;
}

std::int64_t longest_of(std::span<const std::int32_t> lengths_tokens) {
  return lengths_tokens.empty() ? 0 : *std::ranges::max_element(lengths_tokens);
}

}  // namespace

PlannedStrategy schedule_packing(const Scenario& scenario, const StrategySpec& spec, Packing packing,
                                 std::vector<GroupSpec> groups) {
  return schedule_packs(scenario, spec, {.packing = std::move(packing), .groups = std::move(groups)}, 0);
}

PlannedStrategy plan_what_does_not_fit(const Scenario& scenario, const StrategySpec& spec,
                                       std::span<const std::int32_t> lengths_tokens) {
  const Stopwatch packing_watch;
  GroupSpec group;
  group.capacity_tokens = std::max<std::int64_t>(1, spec.longest_tokens.value_or(longest_of(lengths_tokens)));
  const ParallelPlan& base = base_plan(scenario, spec);
  for (int degree = 1; degree <= packed_gpus(base); degree *= 2) {
    ParallelPlan plan = base;
    plan.sequence.ulysses = degree;
    if (plan_mistakes(scenario.model, scenario.cluster, plan).empty()) group.sequence.ulysses = degree;
  }
  Packed packed{.packing = pack("bfd", pack_request(spec, std::span(&group, 1), lengths_tokens)),
                .groups = {group}};
  packed.packing.strategy = find_strategy(spec.strategy);
  return schedule_packs(scenario, spec, std::move(packed), packing_watch.seconds());
}

namespace {

// At the ZeRO stage of its own plan.
PlannedStrategy plan_at(const Scenario& scenario, const StrategySpec& spec,
                        std::span<const std::int32_t> lengths_tokens, ScenarioPricers& pricers,
                        const Stopwatch& packing_watch) {
  std::optional<BatchRun> run = batch_run(scenario, spec, longest_of(lengths_tokens), pricers);
  if (!run) return plan_what_does_not_fit(scenario, spec, lengths_tokens);
  Packed packed = plan_batches(std::move(*run), spec, lengths_tokens);
  return schedule_packs(scenario, spec, std::move(packed), packing_watch.seconds());
}

// At the stage of those that it may choose from at which most of the data is trained, and of these the one
// that takes least. Stages hold samples of other lengths.
PlannedStrategy best_stage(const Scenario& scenario, const StrategySpec& spec,
                           std::span<const std::int32_t> lengths_tokens, ScenarioPricers& pricers,
                           const Stopwatch& packing_watch) {
  const auto lost_tokens = [](const Packed& packed) {
    return packed.packing.counts.dropped_tokens + packed.packing.counts.truncated_tokens;
  };
  const auto is_better = [&](const Packed& one, const Packed& other) {
    if (lost_tokens(one) != lost_tokens(other)) return lost_tokens(one) < lost_tokens(other);
    return one.planned_s < other.planned_s;
  };
  StrategySpec best_spec;
  std::optional<Packed> best;
  std::exception_ptr refused;  // samples that no pack of a stage holds
  for (const int zero_stage : spec.zero_stages) {
    StrategySpec at_stage = spec;
    at_stage.plan = with_zero_stage(base_plan(scenario, spec), zero_stage);
    std::optional<BatchRun> run = batch_run(scenario, at_stage, longest_of(lengths_tokens), pricers);
    if (!run) continue;
    try {
      Packed packed = plan_batches(std::move(*run), spec, lengths_tokens);
      if (best && !is_better(packed, *best)) continue;
      best = std::move(packed);
      best_spec = std::move(at_stage);
    } catch (const std::invalid_argument&) {
      if (!refused) refused = std::current_exception();
    }
  }
  if (best) return schedule_packs(scenario, best_spec, std::move(*best), packing_watch.seconds());
  if (refused) std::rethrow_exception(refused);
  StrategySpec first = spec;
  first.plan = with_zero_stage(base_plan(scenario, spec), spec.zero_stages.front());
  return plan_what_does_not_fit(scenario, first, lengths_tokens);
}

}  // namespace

namespace {

// The packs of a strategy that only packs.
Packed packs_alone(const StrategySpec& spec, std::span<const std::int32_t> lengths_tokens, PackCache* known) {
  const auto make = [&] { return pack(spec.strategy, pack_request(spec, spec.groups, lengths_tokens)); };
  if (known == nullptr) return {.packing = make(), .groups = spec.groups};
  const auto packed = known->packed(spec, [&] {
    PackedData data{.packing = make(), .batches = {}, .attentions = std::make_shared<PackAttentions>()};
    data.packing.attention = spec.attention;
    for (std::size_t g = 0; g < spec.groups.size(); ++g)
      data.batches.push_back(micro_batches(data.packing, g, spec.padding, spec.pad_multiple_tokens));
    return data;
  });
  return {.packing = packed->packing.clone(),
          .batches = packed->batches,
          .attentions = packed->attentions,
          .groups = spec.groups};
}

}  // namespace

PlannedStrategy plan_strategy(const Scenario& scenario, const StrategySpec& spec,
                              std::span<const std::int32_t> lengths_tokens, ScenarioPricers& pricers,
                              PackCache* known) {
  if (spec.repack_each_epoch && scenario.training.epochs > 1)
    return plan_each_epoch(scenario, spec, lengths_tokens, pricers);
  const Stopwatch packing_watch;
  if (find_strategy(spec.strategy)->plan_batches == nullptr) {
    Packed packed = packs_alone(spec, lengths_tokens, known);
    return schedule_packs(scenario, spec, std::move(packed), packing_watch.seconds(), known);
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
