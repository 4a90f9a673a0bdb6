#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/state_traffic.hpp"
#include "packing/options/shared_options.hpp"
#include "scenarios/loader/limits.hpp"
#include "scenarios/loader/plan_checks.hpp"
#include "scenarios/loader/readers.hpp"
#include "scenarios/loader/strategy_keys.hpp"

namespace packsim {
namespace {

// An entry of "strategies" and, behind it, the defaults in "packing".
struct Entry {
  JsonReader& own;
  JsonReader& defaults;

  // Where a value came from, which is where a mistake in it has to be put right.
  JsonReader& with(std::string_view key) const { return !own.has(key) && defaults.has(key) ? defaults : own; }
};

int most_gc_layers(const PlanContext& context) {
  return context.model == nullptr ? kMostLayers : context.model->n_layers;
}

// Reports what a group makes wrong with the plan, at its first key that is in it; true where there is
// something. The mistakes of all groups were reported, and what else has one of their keys may go with them.
bool refuse_group_plan(const Entry& entry, const GroupSpec& group, const PlanContext& context) {
  const std::vector<std::string> group_keys = plan_key_names(PlanPart::group);
  const ParallelPlan plan = group_plan(context.plan, group, group.gc_layers.value_or(0));
  bool refused = false;
  for (const PlanMistake& mistake : trainer_mistakes(context.trainer, *context.model, plan)) {
    const bool is_of_group = std::ranges::find(group_keys, mistake.keys.front()) != group_keys.end();
    refuse_plan(is_of_group ? entry.with(mistake.keys.front()) : entry.own, mistake.keys.front(), mistake);
    refused = true;
  }
  for (const PlanMistake& mistake : plan_mistakes(*context.model, *context.cluster, plan)) {
    const auto key = std::ranges::find_first_of(mistake.keys, group_keys);
    const bool was_refused =
        std::ranges::find_first_of(mistake.keys, context.refused_keys) != mistake.keys.end();
    if (key == mistake.keys.end() || was_refused) continue;
    refuse_plan(entry.with(*key), *key, mistake);
    refused = true;
  }
  return refused;
}

// What a group has to fit: the model on its cluster, and the pack length a whole number of tokens for each of
// its GPUs.
void check_group(const Entry& entry, const GroupSpec& group, const PlanContext& context) {
  const bool is_known = context.model != nullptr && context.cluster != nullptr;
  if (is_known && refuse_group_plan(entry, group, context)) return;
  if (group.capacity_tokens % group.sequence.ulysses != 0) {
    entry.with("capacity_tokens")
        .refuse("capacity_tokens", fmt::format("a multiple of the sp_degree {}", group.sequence.ulysses));
  }
}

// Reads capacity_tokens, the degrees and gc_layers of one group, whose own object is `entry.own`.
GroupSpec read_group(const Entry& entry, StrategyKeys keys, const PlanContext& context) {
  const std::size_t before = entry.own.n_problems();
  read_group_keys(entry.own, most_gc_layers(context), keys);
  if (!keys.capacity_tokens && !entry.own.has("capacity_tokens")) {  // what is there was refused
    entry.own.refuse("capacity_tokens", fmt::format("integer in 1..{}", kMostTokens));
  }
  const GroupSpec group{.capacity_tokens = keys.capacity_tokens.value_or(0),
                        .sequence = keys.sequence,
                        .gc_layers = keys.gc_layers};
  if (entry.own.n_problems() == before) check_group(entry, group, context);
  return group;
}

// Groups that a trainer cannot run in one run.
void check_variety(JsonReader& reader, std::span<const GroupSpec> groups, const PlanContext& context) {
  if (context.trainer == nullptr || groups.empty()) return;
  const auto differ = [&](const GroupSpec& group) { return group.sequence != groups.front().sequence; };
  if (context.trainer->pack_lengths == Variety::one && groups.size() > 1) {
    reader.refuse("groups",
                  fmt::format("one group for {}, which has one pack length in a run", context.trainer->name),
                  fmt::format("{}", groups.size()));
  } else if (context.trainer->degrees == Variety::one && std::ranges::any_of(groups, differ)) {
    reader.refuse("groups",
                  fmt::format("groups of the same sp_degree and cp_degree for {}, which has one in a run",
                              context.trainer->name),
                  "several");
  }
}

// Capacities of 0 could not be read, which was reported.
std::vector<GroupSpec> read_groups(JsonReader& reader, JsonReader& defaults, StrategyKeys keys,
                                   const PlanContext& context) {
  keys.capacity_tokens.reset();  // one capacity for all groups is none for any
  std::vector<GroupSpec> groups;
  std::int64_t before_tokens = 0;
  for (JsonReader& group : reader.objects("groups")) {
    groups.push_back(read_group({.own = group, .defaults = defaults}, keys, context));
    const std::int64_t capacity_tokens = groups.back().capacity_tokens;
    if (capacity_tokens > 0 && capacity_tokens <= before_tokens) {
      group.refuse("capacity_tokens", fmt::format("more than the {} of the group before", before_tokens));
    }
    before_tokens = capacity_tokens;
  }
  check_variety(reader, groups, context);
  return groups;
}

// Other strategies ignore what "packing" says, as they do with options that they do not read.
bool can_attend_across(const Strategy& strategy) {
  return strategy.layout != Layout::rows && !strategy.forms_iterations();
}

// Combinations of options and policies that no strategy can carry out.
void check_policies(const Entry& entry, const Strategy& strategy, const StrategyKeys& keys,
                    const Policies& policies) {
  if (strategy.cuts_samples && policies.over_long == OverLong::own_pack) {
    entry.with("over_long")
        .refuse("over_long",
                fmt::format("error, drop, truncate or split for strategy {}, which cuts samples anyway",
                            strategy.name));
  }
  // What "packing" says may be outside the range that this strategy has.
  for (const Option* option : strategy.options) {
    const OptionValue* value = keys.options.find(option->name);
    if (value == nullptr || accepts(*option, *value)) continue;
    entry.with(option->name)
        .refuse(option->name, fmt::format("{} for strategy {}", expected_of(*option), strategy.name));
  }
  if (policies.attention == Attention::across_samples && entry.own.has("attention") &&
      !can_attend_across(strategy)) {
    entry.own.refuse("attention",
                     fmt::format("within_samples for strategy {}, which {}", strategy.name,
                                 strategy.layout == Layout::rows
                                     ? "gives every sample a row of its own"
                                     : "plans iterations by the time of each sample's attention"));
  }
  if (policies.padding == Padding::multiple && keys.policies.find("pad_multiple_tokens") == nullptr) {
    entry.with("padding").refuse("pad_multiple_tokens", "integer >= 1 where padding is multiple");
  }
}

void check_curriculum(const Entry& entry, const Strategy& strategy, const Policies& policies) {
  if (policies.curriculum_iterations == 0 || policies.order != PackOrder::as_packed) return;
  entry.with("curriculum_iterations")
      .refuse("curriculum_iterations", fmt::format("0 for strategy {} with the order as_packed, which no "
                                                   "curriculum may change",
                                                   strategy.name));
}

// What a strategy that forms iterations decides itself.
void check_iterations(const Entry& entry, const Strategy& strategy, const Policies& policies) {
  if (!strategy.forms_iterations()) return;
  for (const std::string_view key : {"last_iteration", "micro_batches_per_rank"}) {
    if (entry.own.has(key))
      entry.own.refuse(key, fmt::format("no such key for {}, which forms iterations itself", strategy.name));
  }
  if (policies.order == PackOrder::balanced) {
    entry.with("order").refuse(
        "order", fmt::format("as_packed, neighbours or shuffled for {}, which forms iterations itself",
                             strategy.name));
  }
}

// What a strategy cannot do under a mixture, and keys of its own that would change nothing.
void check_mixture(const Entry& entry, const Strategy& strategy, const StrategySpec& spec, bool has_mixture) {
  for (const std::string_view key : {"mixture_packs", "mixture_plan"}) {
    if (!has_mixture && entry.own.has(key))
      entry.own.refuse(key, fmt::format("no {} in a scenario without mixing", key));
  }
  if (has_mixture && entry.own.has("mixture_plan") && !spec.searches_plan && !strategy.chooses_groups)
    entry.own.refuse("mixture_plan",
                     fmt::format("no mixture_plan for strategy {} with a given plan", strategy.name));
  if (spec.mixture_packs == MixturePacks::pools && strategy.forms_iterations() &&
      entry.own.has("mixture_packs")) {
    entry.own.refuse(
        "mixture_packs",
        fmt::format("window or run for strategy {}, which forms iterations itself", strategy.name));
  }
}

// What the strategy has where nothing is said, and what is.
Policies policies_of(const Strategy& strategy, const StrategyKeys& keys) {
  Policies policies{.order = strategy.default_order,
                    .window_samples = strategy.default_window_samples,
                    .padding = strategy.default_padding()};
  if (keys.searches_plan) policies.mixture_plan = MixturePlan::prior;
  // Batches of rows come one a rank and step; how many packs go into a step follows from their tokens.
  if (strategy.layout == Layout::rows && keys.options[kBatchSamples] && !keys.searches_plan)
    policies.micro_batches_per_rank = 1;
  for (const Policy& policy : kPolicies) {
    if (const OptionValue* said = keys.policies.find(policy.option.name); said != nullptr)
      policy.set(policies, *said);
  }
  return policies;
}

// What is said for all strategies and this one cannot have is ignored.
void drop_policies(const Strategy& strategy, Policies& policies) {
  if (!can_attend_across(strategy)) policies.attention = Attention::within_samples;
  if (!strategy.forms_iterations()) return;
  // Iterations are what the strategy makes of them.
  policies.last_iteration = LastIteration::shorten;
  policies.micro_batches_per_rank.reset();
}

// "zero_stage" and "parallelism" of a strategy, where they differ from the scenario's; none where they do
// not. Reports what is wrong with such a plan whatever its groups are.
std::optional<ParallelPlan> read_own_plan(JsonReader& reader, PlanContext& context) {
  const bool has_stage = reader.has("zero_stage");
  const bool has_parallelism = reader.has("parallelism");
  const std::size_t before = reader.n_problems();
  ParallelPlan plan = context.plan;
  const int zero_stage = reader.integer("zero_stage", 0, kLastZeroStage, plan.zero_stage);
  if (zero_stage != plan.zero_stage) plan = with_zero_stage(plan, zero_stage);
  ParallelPlan said = read_parallelism(reader.optional_object("parallelism"), plan);
  check_zero_stages(reader, reader);
  if (said.zero_stage != plan.zero_stage && reader.n_problems() == before)
    said = read_parallelism(reader.optional_object("parallelism"), with_zero_stage(plan, said.zero_stage));
  plan = said;
  if (!has_stage && !has_parallelism) return std::nullopt;
  context.plan = plan;
  if (context.model == nullptr || context.cluster == nullptr || reader.n_problems() > before) return plan;
  JsonReader parallelism = reader.optional_object("parallelism");
  parallelism.allow_any_keys();
  for (const PlanMistake& mistake : plan_mistakes(*context.model, *context.cluster, plan)) {
    const auto is_refused = [&](const std::string& key) {
      return std::ranges::find(context.refused_keys, key) != context.refused_keys.end();
    };
    if (std::ranges::any_of(mistake.keys, is_refused)) continue;
    const auto own =
        std::ranges::find_if(mistake.keys, [&](const std::string& key) { return parallelism.has(key); });
    if (own != mistake.keys.end()) {
      refuse_plan(parallelism, *own, mistake);
    } else {
      refuse_plan(reader, "zero_stage", mistake);
    }
    context.refused_keys.insert(context.refused_keys.end(), mistake.keys.begin(), mistake.keys.end());
  }
  return plan;
}

// A plan that is searched has no groups yet.
void refuse_group_keys(JsonReader& reader) {
  std::vector<std::string> keys = plan_key_names(PlanPart::group);
  keys.insert(keys.begin(), "groups");
  for (const std::string& key : keys) {
    if (reader.value(key) != nullptr)
      reader.refuse(key, fmt::format("no {} where \"plan\" is \"auto\"", key));
  }
}

StrategySpec read_strategy(JsonReader& reader, JsonReader& defaults, StrategyKeys keys, PlanContext context) {
  const Entry entry{.own = reader, .defaults = defaults};
  const Strategy* strategy = reader.row_of("strategy", strategies());
  StrategySpec spec;
  read_plan_key(reader, keys);
  spec.searches_plan = keys.searches_plan;
  spec.plan = read_own_plan(reader, context);
  spec.strategy = strategy == nullptr ? "" : strategy->name;
  spec.name = reader.has("name") ? reader.string("name") : reader.string("name", spec.strategy);
  if (strategy != nullptr) {
    reader.describe_as({.text = "strategy " + spec.strategy, .key = "strategy", .word = spec.strategy});
  }
  if (keys.searches_plan) {
    refuse_group_keys(reader);
  } else if (strategy == nullptr ? reader.has("groups") : strategy->takes_groups()) {
    spec.groups = read_groups(reader, defaults, keys, context);
  } else if (strategy == nullptr || !strategy->chooses_groups) {
    spec.groups.push_back(read_group(entry, keys, context));
  }
  read_option_keys(reader, strategy == nullptr ? all_options() : strategy->options, keys.options);
  read_policy_keys(reader, keys.policies);
  if (strategy == nullptr) return spec;
  static_cast<Policies&>(spec) = policies_of(*strategy, keys);
  if (const std::string refusal = trainer_refusal(context.trainer, *strategy); !refusal.empty())
    reader.refuse("strategy", refusal);
  check_policies(entry, *strategy, keys, spec);
  check_curriculum(entry, *strategy, spec);
  check_iterations(entry, *strategy, spec);
  check_mixture(entry, *strategy, spec, context.has_mixture);
  drop_policies(*strategy, spec);
  spec.options = keys.options;
  if (spec.searches_plan || strategy->chooses_groups) {
    JsonReader parallelism = reader.optional_object("parallelism");
    read_search_keys(reader, parallelism, spec.plan.value_or(context.plan), keys);
    for (std::size_t i = 0; i < kSearchDimensions.size(); ++i) {
      if (spec.searches_plan || kSearchDimensions[i] == &kZeroStages)
        spec.*kSearchDimensions[i]->said = keys.searched_values[i];
    }
    spec.search_time_limit_s = keys.search_time_limit_s;
    spec.longest_tokens = reader.optional_integer<std::int64_t>("capacity_tokens", 1, kMostTokens);
    if (!reader.has("capacity_tokens")) spec.longest_tokens = keys.capacity_tokens;
  }
  return spec;
}

// Strategies whose groups are open train the same samples whole as the others do, unless they say otherwise.
void share_longest_sample(std::vector<StrategySpec>& specs) {
  std::optional<std::int64_t> longest_tokens;
  for (const StrategySpec& spec : specs) {
    for (const GroupSpec& group : spec.groups)
      longest_tokens = std::max(longest_tokens.value_or(0), group.capacity_tokens);
  }
  for (StrategySpec& spec : specs) {
    if (find_strategy(spec.strategy) != nullptr && has_open_groups(spec) && !spec.longest_tokens)
      spec.longest_tokens = longest_tokens;
  }
}

}  // namespace

std::vector<StrategySpec> read_strategies(JsonReader& scenario, std::uint32_t seed,
                                          const PlanContext& context) {
  StrategyKeys keys;
  keys.options.set(kSeed.name, std::int64_t{seed});
  JsonReader defaults = scenario.optional_object("packing");
  read_group_keys(defaults, most_gc_layers(context), keys);
  read_option_keys(defaults, all_options(), keys.options);
  read_policy_keys(defaults, keys.policies);
  read_plan_key(defaults, keys);
  JsonReader parallelism = scenario.optional_object("parallelism");
  read_search_keys(defaults, parallelism, context.plan, keys);

  std::vector<StrategySpec> specs;
  for (JsonReader& reader : scenario.objects("strategies")) {
    StrategySpec spec = read_strategy(reader, defaults, keys, context);
    const auto same = std::ranges::find(specs, spec.name, &StrategySpec::name);
    if (!spec.name.empty() && same != specs.end()) {
      reader.refuse("name", "a name that no other strategy has",
                    fmt::format("\"{}\", like /strategies/{}", spec.name, same - specs.begin()));
    }
    specs.push_back(std::move(spec));
  }
  // Group keys of "packing" are for strategies whose plan is given.
  const auto is_open = [](const StrategySpec& spec) {
    return find_strategy(spec.strategy) != nullptr && has_open_groups(spec);
  };
  const bool any_searches = std::ranges::any_of(specs, &StrategySpec::searches_plan);
  if (any_searches && std::ranges::all_of(specs, is_open)) refuse_group_keys(defaults);
  share_longest_sample(specs);
  return specs;
}

}  // namespace packsim
