#include "experiment/plans/plan_of_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <stdexcept>

#include "experiment/plans/batch_run.hpp"
#include "experiment/plans/plan_group.hpp"
#include "experiment/plans/stopwatch.hpp"
#include "models/parallel_plan.hpp"
#include "models/plan/plan_key.hpp"
#include "packing/options/shared_options.hpp"
#include "plan_files/restore_plan.hpp"
#include "scenarios/search_space/search_dimensions.hpp"

namespace packsim {
namespace {

std::vector<GroupSpec> groups_of(const PlanTables& plan) {
  std::vector<GroupSpec> groups;
  for (const PlanGroup& group : plan.groups) {
    groups.push_back({.capacity_tokens = group.capacity_tokens,
                      .sequence = group.sequence(),
                      .gc_layers = static_cast<int>(group.gc_layers)});
  }
  return groups;
}

// Degrees of tensor parallelism and pipelines, and the ZeRO stage, are said by plans of a scenario only.
bool says_states(const PlanFacts& facts) {
  return !facts.scenario.empty();
}

constexpr std::string_view kCheckpointing = "checkpointing";
constexpr std::string_view kOffload = "offload";
constexpr std::string_view kPrecision = "precision";
constexpr std::string_view kKeyExchange = "cp_exchange";

std::string text_of(const ParallelPlan& plan, std::string_view key) {
  return plan_value_text(find_plan_key(key)->get(plan));
}

// Sets a key to the value of which this is the text, if there is one.
void set_text(ParallelPlan& plan, std::string_view name, const std::string& text) {
  const PlanKey& key = *find_plan_key(name);
  std::vector<std::string> words;
  for (const auto word : std::views::split(text, kBetweenElements))
    words.emplace_back(word.begin(), word.end());
  const auto is_one_of = [](const std::string& word, const std::vector<std::string_view>& known) {
    return std::ranges::find(known, word) != known.end();
  };
  if (text.empty()) return;
  if (words.size() == 1 && is_one_of(text, key.option.words())) return key.set(plan, text);
  if (!std::ranges::all_of(words, [&](const std::string& word) { return is_one_of(word, key.list_words()); }))
    throw std::invalid_argument(
        fmt::format("facts: /{}: expected {}, got \"{}\"", name, expected_of(key), text));
  key.set(plan, words);
}

// The scenario's plan with what a file says of the plan that a search may have chosen.
ParallelPlan plan_of_facts(const ParallelPlan& own, const PlanFacts& facts) {
  ParallelPlan plan = own;
  const auto set = [&](const SearchDimension& dimension, int value) {
    plan = dimension.with(plan, value, true, own).value_or(plan);
  };
  set(kPipelineDegrees, facts.pp_degree);
  set(kTensorDegrees, facts.tp_degree);
  set(kExpertDegrees, facts.ep_degree);
  set(kZeroStages, facts.zero_stage);
  if (facts.virtual_stages > 0) set(kVirtualStages, facts.virtual_stages);
  set_text(plan, kCheckpointing, facts.checkpointing);
  set_text(plan, kOffload, facts.offload);
  set_text(plan, kPrecision, facts.precision);
  set_text(plan, kKeyExchange, facts.cp_exchange);
  if (facts.shard_degree >= 0) set(kShardDegrees, facts.shard_degree);
  if (facts.mlp_tiles > 0) set(kMlpTiles, facts.mlp_tiles);
  if (facts.loss_tiles > 0) set(kLossTiles, facts.loss_tiles);
  return plan;
}

}  // namespace

std::vector<std::byte> plan_file_of(const Scenario& scenario, const StrategySpec& spec,
                                    const PlannedStrategy& plan,
                                    std::span<const std::int32_t> sample_lengths_tokens,
                                    const std::string& version, const std::string& normaliser) {
  PlanFacts facts;
  facts.version = version;
  if (spec.attention != Attention::within_samples) {
    throw std::invalid_argument(fmt::format(
        "{}: expected \"attention\": \"within_samples\" for a schedule file, whose samples do not "
        "attend to each other, got \"{}\"",
        spec.name, policy_name(kAttentionNames, spec.attention)));
  }
  if (!std::ranges::all_of(plan.groups, &PlannedGroup::feasible)) {
    throw std::invalid_argument(fmt::format(
        "{}: expected a plan that fits in memory for a schedule file, got one that does not (see the run's "
        "report)",
        spec.name));
  }
  if (scenario.mixing) {
    throw std::invalid_argument(fmt::format(
        "{}: expected no \"mixing\" for a schedule file, whose samples are trained once in each epoch; "
        "packsim.torch.mixing.MixtureLoader trains a mixture",
        spec.name));
  }
  if (plan.epochs) {
    const std::int64_t seed = spec.options[kSeed];
    throw std::invalid_argument(fmt::format(
        "{}: expected \"repack_each_epoch\": false for a schedule file, whose epochs train the same packs, "
        "got true and {} epochs. Write a file for each epoch instead, with \"epochs\": 1 and the \"seed\" of "
        "the strategy from {} to {}",
        spec.name, plan.epochs->n_epochs, seed,
        static_cast<std::uint32_t>(seed + plan.epochs->n_epochs - 1)));
  }
  facts.name = spec.name;
  facts.scenario = scenario.name;
  facts.normaliser = normaliser;
  facts.lengths_hash = hash_of_lengths(sample_lengths_tokens);
  facts.seed = static_cast<std::uint32_t>(spec.options[kSeed]);
  facts.shuffle = spec.options[kShuffle];
  facts.tp_degree = plan.plans.front().tp_degree;
  facts.pp_degree = plan.plans.front().pp_degree;
  facts.ep_degree = plan.plans.front().ep_degree;
  facts.zero_stage = plan.groups.front().zero_stage;
  facts.virtual_stages = plan.plans.front().virtual_stages;
  facts.checkpointing = text_of(plan.plans.front(), kCheckpointing);
  facts.offload = text_of(plan.plans.front(), kOffload);
  facts.precision = text_of(plan.plans.front(), kPrecision);
  facts.cp_exchange = text_of(plan.plans.front(), kKeyExchange);
  facts.shard_degree = plan.plans.front().shard_degree;
  facts.mlp_tiles = plan.plans.front().mlp_tiles;
  facts.loss_tiles = plan.plans.front().loss_tiles;
  facts.tokens_per_iteration = scenario.training.tokens_per_iteration;
  facts.over_long = spec.over_long;
  facts.empty = spec.empty;
  facts.padding = spec.padding;
  facts.pad_multiple_tokens = spec.pad_multiple_tokens;
  facts.order = spec.order;
  facts.last_iteration = spec.last_iteration;
  std::vector<SequenceParallelism> sequence;
  for (const PlannedGroup& group : plan.groups) sequence.push_back(group.sequence);
  return plan_bytes({.packing = plan.packing,
                     .schedule = plan.schedule,
                     .sequence = sequence,
                     .loss_tokens = plan.loss_tokens,
                     .facts = facts});
}

Scenario scenario_of_plan(const Scenario& scenario, const PlanView& plan, const std::string& path) {
  const PlanFacts& facts = plan->facts;
  std::string mistakes;
  const auto expect = [&](const std::string& what, std::int64_t of_scenario, std::int64_t of_plan) {
    if (of_scenario == of_plan) return;
    mistakes += fmt::format("{}{}: {}: expected {}, as {} has, got {}", mistakes.empty() ? "" : "\n", path,
                            what, of_scenario, scenario.path, of_plan);
  };
  Scenario planned = scenario;
  try {
    if (says_states(facts)) planned.plan = plan_of_facts(scenario.plan, facts);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("{}: {}", path, error.what()));
  }
  expect("n_gpus (over tensor-parallel groups and pipelines)", packed_gpus(planned.plan), facts.n_gpus);
  const std::vector<GroupSpec> groups = groups_of(*plan);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const PlanMistake& mistake :
         plan_mistakes(scenario.model, scenario.cluster, group_plan(planned.plan, groups[g], 0))) {
      mistakes += fmt::format("{}{}: groups[{}]: {}", mistakes.empty() ? "" : "\n", path, g, mistake.text());
    }
  }
  if (!mistakes.empty()) throw std::invalid_argument(mistakes);

  planned.description = fmt::format("The plan {}, on the model and the cluster of this scenario", path);
  planned.training.epochs = facts.epochs;
  if (facts.tokens_per_iteration > 0) planned.training.tokens_per_iteration = facts.tokens_per_iteration;
  StrategySpec spec;
  spec.name = facts.name;
  spec.strategy = facts.strategy;
  spec.groups = groups;
  spec.options.set(kSeed.name, std::int64_t{facts.seed});
  spec.options.set(kShuffle.name, facts.shuffle);
  spec.over_long = facts.over_long;
  spec.empty = facts.empty;
  spec.padding = facts.padding;
  spec.pad_multiple_tokens = facts.pad_multiple_tokens;
  spec.order = facts.order;
  spec.last_iteration = facts.last_iteration;
  planned.strategies = {spec};
  planned.baseline = spec.name;
  return planned;
}

PlannedStrategy plan_of_file(const Scenario& scenario, const PlanView& view) {
  const Stopwatch reading_watch;
  RestoredPlan restored = restore_plan(view);
  const StrategySpec& spec = scenario.strategies.front();
  PackedData packed = packed_data(spec, std::move(restored.packing));
  packed.loss_tokens.assign(view->loss_tokens.begin(), view->loss_tokens.end());
  PlacedPacks placed{.schedule = std::move(restored.schedule), .uses = {}};
  placed.uses = count_pack_uses(packed.batches, placed.schedule);
  packed.packing_s = reading_watch.seconds();
  return planned_strategy(scenario, spec, spec.groups, std::move(packed), std::move(placed));
}

}  // namespace packsim
