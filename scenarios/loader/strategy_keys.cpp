#include "scenarios/loader/strategy_keys.hpp"

#include <algorithm>
#include <string>
#include <type_traits>
#include <variant>

#include "packing/option_table.hpp"
#include "scenarios/loader/limits.hpp"

namespace packsim {
namespace {

void read_word(JsonReader& reader, const OptionRow& row, std::string_view& value) {
  const std::vector<std::string_view> words = row.words();
  const std::vector<std::string> names(words.begin(), words.end());
  const auto fallback = static_cast<std::size_t>(std::ranges::find(words, value) - words.begin());
  value = words[reader.one_of(row.name, names, fallback)];
}

void read_option(JsonReader& reader, const OptionRow& row, StrategyOptions& options) {
  std::visit(
      [&](auto member) {
        auto& value = options.*member;
        using Value = std::remove_reference_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, bool>) {
          value = reader.boolean(row.name, value);
        } else if constexpr (std::is_same_v<Value, double>) {
          if (const auto given = reader.optional_positive(row.name)) value = *given;
        } else if constexpr (std::is_same_v<Value, std::string_view>) {
          read_word(reader, row, value);
        } else {
          value = reader.integer(row.name, static_cast<Value>(row.low), static_cast<Value>(row.high), value);
        }
      },
      row.member);
  if (row.name == "samples_per_iteration" && options.samples_per_iteration > 0 && options.batch_tokens > 0)
    reader.refuse("samples_per_iteration", "no samples_per_iteration beside batch_tokens");
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

void read_option_keys(JsonReader& reader, const Strategy* strategy, StrategyOptions& options) {
  const auto is_read = [&](std::string_view key) {
    return strategy == nullptr || std::ranges::find(strategy->options, key) != strategy->options.end();
  };
  for (const OptionRow& row : option_rows()) {
    if (is_read(row.name)) read_option(reader, row, options);
  }
}

void read_policy_keys(JsonReader& reader, StrategyKeys& keys) {
  constexpr int kMostMicroBatches = 65'536;
  read_order(reader, keys.order);
  keys.over_long = reader.one_of("over_long", kOverLongNames, keys.over_long);
  keys.empty = reader.one_of("empty", kEmptyNames, keys.empty);
  read_optional<std::int64_t>(reader, "window_samples", kMostSamples, keys.window_samples, 0);
  keys.padding = reader.one_of("padding", kPaddingNames, keys.padding);
  read_optional(reader, "pad_multiple_tokens", kMostTokens, keys.pad_multiple_tokens);
  keys.last_iteration = reader.one_of("last_iteration", kLastIterationNames, keys.last_iteration);
  keys.curriculum_iterations =
      reader.integer("curriculum_iterations", 0, kMostSamples, keys.curriculum_iterations);
  read_optional(reader, "micro_batches_per_rank", kMostMicroBatches, keys.micro_batches_per_rank);
}

std::vector<std::string_view> option_keys() {
  std::vector<std::string_view> keys;
  for (const OptionRow& row : option_rows()) keys.push_back(row.name);
  return keys;
}

}  // namespace packsim
