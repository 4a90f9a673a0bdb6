#include "scenarios/loader/strategy_keys.hpp"

#include <algorithm>
#include <string>
#include <variant>

#include "packing/options/shared_options.hpp"
#include "scenarios/loader/limits.hpp"

namespace packsim {
namespace {

OptionValue read_word(JsonReader& reader, const Option& option, const OptionValue& before) {
  const std::vector<std::string_view> words = option.words();
  const std::vector<std::string> names(words.begin(), words.end());
  const auto fallback = std::ranges::find(names, std::get<std::string>(before)) - names.begin();
  return names[reader.one_of(option.name, names, static_cast<std::size_t>(fallback))];
}

OptionValue read_value(JsonReader& reader, const Option& option, const OptionValue& before) {
  switch (option.type) {
    case OptionType::boolean:
      return reader.boolean(option.name, std::get<bool>(before));
    case OptionType::integer:
      return reader.integer(option.name, option.least, option.most, std::get<std::int64_t>(before));
    case OptionType::seconds:
      if (reader.value(option.name) == nullptr) return before;
      return reader.number(option.name, static_cast<double>(option.least), static_cast<double>(option.most));
    case OptionType::word:
      break;
  }
  return read_word(reader, option, before);
}

void read_option(JsonReader& reader, const Option& option, OptionValues& options) {
  const OptionValue* before = options.find(option.name);
  OptionValue value = read_value(reader, option, before == nullptr ? default_value(option) : *before);
  if (reader.has(option.name)) options.set(option.name, std::move(value));
}

// "balance" is short for the order that balances, or for the one that does not.
void read_order(JsonReader& reader, std::optional<PackOrder>& order) {
  const bool has_order = reader.has("order");
  const bool has_balance = reader.has("balance");
  const bool balance = reader.boolean("balance", false);
  const PackOrder named = reader.one_of("order", kPackOrderNames, PackOrder::shuffled);
  if (has_order && has_balance) reader.refuse("balance", "no balance beside order");
  if (has_balance) order = balance ? PackOrder::balanced : PackOrder::shuffled;
  if (has_order) order = named;
}

template <typename T>
void read_optional(JsonReader& reader, std::string_view key, T high, std::optional<T>& value, T low = 1) {
  const std::optional<T> read = reader.optional_integer(key, low, high);
  if (reader.has(key)) value = read;
}

}  // namespace

void read_group_keys(JsonReader& reader, int most_gc_layers, StrategyKeys& keys) {
  read_optional(reader, "capacity_tokens", kMostTokens, keys.capacity_tokens);
  keys.sequence.ulysses = reader.integer("sp_degree", 1, kMostGpus, keys.sequence.ulysses);
  keys.sequence.ring = reader.integer("cp_degree", 1, kMostGpus, keys.sequence.ring);
  keys.gc_layers = reader.integer_or_word("gc_layers", 0, most_gc_layers, "auto", keys.gc_layers);
}

void read_plan_key(JsonReader& reader, StrategyKeys& keys) {
  constexpr std::array<PolicyName<bool>, 2> kPlanNames = {{{false, "given", ""}, {true, "auto", ""}}};
  keys.searches_plan = reader.one_of("plan", kPlanNames, keys.searches_plan);
}

void read_option_keys(JsonReader& reader, std::span<const Option* const> read, OptionValues& options) {
  for (const Option* option : read) read_option(reader, *option, options);
  if (reader.has(kSamplesPerIteration.name) && options[kSamplesPerIteration] && options[kBatchTokens])
    reader.refuse(kSamplesPerIteration.name, "no samples_per_iteration beside batch_tokens");
}

void read_policy_keys(JsonReader& reader, StrategyKeys& keys) {
  constexpr int kMostMicroBatches = 65'536;
  read_order(reader, keys.order);
  keys.over_long = reader.one_of("over_long", kOverLongNames, keys.over_long);
  keys.empty = reader.one_of("empty", kEmptyNames, keys.empty);
  read_optional<std::int64_t>(reader, "window_samples", kMostSamples, keys.window_samples, 0);
  keys.padding = reader.one_of("padding", kPaddingNames, keys.padding);
  read_optional(reader, "pad_multiple_tokens", kMostTokens, keys.pad_multiple_tokens);
  keys.attention = reader.one_of("attention", kAttentionNames, keys.attention);
  keys.last_iteration = reader.one_of("last_iteration", kLastIterationNames, keys.last_iteration);
  keys.curriculum_iterations =
      reader.integer("curriculum_iterations", 0, kMostSamples, keys.curriculum_iterations);
  keys.repack_each_epoch = reader.boolean("repack_each_epoch", keys.repack_each_epoch);
  read_optional(reader, "micro_batches_per_rank", kMostMicroBatches, keys.micro_batches_per_rank);
  keys.mixture_packs = reader.one_of("mixture_packs", kMixturePacksNames, keys.mixture_packs);
  const MixturePlan plan =
      reader.one_of("mixture_plan", kMixturePlanNames, keys.mixture_plan.value_or(MixturePlan::window));
  if (reader.has("mixture_plan")) keys.mixture_plan = plan;
}

}  // namespace packsim
