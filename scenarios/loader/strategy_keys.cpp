#include "scenarios/loader/strategy_keys.hpp"

#include <string>

#include "packing/options/shared_options.hpp"
#include "scenarios/loader/limits.hpp"
#include "scenarios/loader/readers.hpp"

namespace packsim {
namespace {

void read_option(JsonReader& reader, const Option& option, OptionValues& options) {
  const OptionValue* before = options.find(option.name);
  OptionValue value = read_option_value(reader, option, before == nullptr ? default_value(option) : *before);
  if (reader.has(option.name)) options.set(option.name, std::move(value));
}

// "balance" is short for the order that balances, or for the one that does not.
void set_order_by_balance(JsonReader& reader, bool balance, OptionValues& policies) {
  if (!reader.has("balance")) return;
  if (reader.has("order")) reader.refuse("balance", "no balance beside order");
  const PackOrder order = balance ? PackOrder::balanced : PackOrder::shuffled;
  policies.set("order", std::string(policy_name(kPackOrderNames, order)));
}

// The numbers of the values that a file says: an array of numbers or of words.
std::vector<int> read_said(JsonReader& reader, const SearchDimension& dimension) {
  const PlanKey& key = *find_plan_key(dimension.plan_key);
  if (key.option.words == nullptr)
    return reader.integers(dimension.key, static_cast<int>(key.option.least),
                           static_cast<int>(key.option.most));
  const std::vector<std::string_view> words = key.option.words();
  std::vector<int> said;
  for (const std::string& word : reader.words(dimension.key, {words.begin(), words.end()})) {
    ParallelPlan plan;
    key.set(plan, word);
    said.push_back(dimension.value(plan));
  }
  return said;
}

}  // namespace

void read_group_keys(JsonReader& reader, int most_gc_layers, StrategyKeys& keys) {
  const auto capacity_tokens = reader.optional_integer<std::int64_t>("capacity_tokens", 1, kMostTokens);
  if (reader.has("capacity_tokens")) keys.capacity_tokens = capacity_tokens;
  constexpr std::string_view kLayers = "gc_layers";
  ParallelPlan plan{.sequence = keys.sequence};
  for (const PlanKey& key : plan_keys()) {
    if (key.part == PlanPart::group && key.name() != kLayers) read_plan_value(reader, key, plan);
  }
  keys.sequence = plan.sequence;
  keys.gc_layers = reader.integer_or_word(kLayers, 0, most_gc_layers, "auto", keys.gc_layers);
}

void read_plan_key(JsonReader& reader, StrategyKeys& keys) {
  constexpr std::array<PolicyName<bool>, 2> kPlanNames = {{{false, "given", ""}, {true, "auto", ""}}};
  keys.searches_plan = reader.one_of("plan", kPlanNames, keys.searches_plan);
}

void read_search_keys(JsonReader& reader, JsonReader& parallelism, const ParallelPlan& plan,
                      StrategyKeys& keys) {
  parallelism.allow_any_keys();
  if (const auto limit_s = reader.optional_positive("search_time_limit_s"))
    keys.search_time_limit_s = limit_s;
  for (std::size_t i = 0; i < kSearchDimensions.size(); ++i) {
    const SearchDimension& dimension = *kSearchDimensions[i];
    std::vector<int> said = read_said(reader, dimension);
    if (said.empty() && dimension.plan_key_fixes && parallelism.has(dimension.plan_key))
      said = {dimension.value(plan)};
    if (reader.has(dimension.key) || !said.empty()) keys.searched_values[i] = said;
  }
}

void read_option_keys(JsonReader& reader, std::span<const Option* const> read, OptionValues& options) {
  for (const Option* option : read) read_option(reader, *option, options);
  if (reader.has(kSamplesPerIteration.name) && options[kSamplesPerIteration] && options[kBatchTokens])
    reader.refuse(kSamplesPerIteration.name, "no samples_per_iteration beside batch_tokens");
}

void read_policy_keys(JsonReader& reader, OptionValues& policies) {
  const bool balance = reader.boolean("balance", false);
  for (const Policy& policy : kPolicies) read_option(reader, policy.option, policies);
  set_order_by_balance(reader, balance, policies);
}

}  // namespace packsim
