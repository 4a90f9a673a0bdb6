#include "scenarios/loader/strategy_keys.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "scenarios/loader/limits.hpp"

namespace packsim {
namespace {

// What hbp can run inside a group: strategies that pack whole samples into one row.
std::vector<std::string> packer_names() {
  std::vector<std::string> names;
  for (const Strategy& strategy : strategies()) {
    if (can_pack_a_group(strategy)) {
      names.emplace_back(strategy.name);
    }
  }
  return names;
}

void read_packer(JsonReader& reader, StrategyOptions& options) {
  const std::vector<std::string> names = packer_names();
  const auto fallback = std::ranges::find(names, options.packer) - names.begin();
  const std::size_t chosen = reader.one_of("packer", names, static_cast<std::size_t>(fallback));
  options.packer = find_strategy(names[chosen])->name;  // the table's text lives as long as the program
}

struct Option {
  std::string_view key;
  void (*read)(JsonReader& reader, StrategyOptions& options);
};

constexpr int kMostRounds = 1'000'000;
constexpr int kMostQueues = 1000;

constexpr std::array<Option, 13> kOptions = {{
    {"seed", [](JsonReader& r, StrategyOptions& o) { o.seed = r.integer("seed", 0, 4294967295U, o.seed); }},
    {"shuffle", [](JsonReader& r, StrategyOptions& o) { o.shuffle = r.boolean("shuffle", o.shuffle); }},
    {"rounds",
     [](JsonReader& r, StrategyOptions& o) { o.rounds = r.integer("rounds", 1, kMostRounds, o.rounds); }},
    {"threshold_tokens",
     [](JsonReader& r, StrategyOptions& o) {
       o.threshold_tokens = r.integer("threshold_tokens", -1, kMostTokens, o.threshold_tokens);
     }},
    {"max_samples_per_pack",
     [](JsonReader& r, StrategyOptions& o) {
       o.max_samples_per_pack = r.integer("max_samples_per_pack", 0, kMostSamples, o.max_samples_per_pack);
     }},
    {"batch_samples",
     [](JsonReader& r, StrategyOptions& o) {
       o.batch_samples = r.integer("batch_samples", 0, kMostSamples, o.batch_samples);
     }},
    {"padded_batches",
     [](JsonReader& r, StrategyOptions& o) {
       o.padded_batches = r.boolean("padded_batches", o.padded_batches);
     }},
    {"packer", read_packer},
    {"greedy_fill",
     [](JsonReader& r, StrategyOptions& o) { o.greedy_fill = r.boolean("greedy_fill", o.greedy_fill); }},
    {"linear_weight_tokens",
     [](JsonReader& r, StrategyOptions& o) {
       o.linear_weight_tokens = r.integer("linear_weight_tokens", 0, kMostTokens, o.linear_weight_tokens);
     }},
    {"outlier_queues",
     [](JsonReader& r, StrategyOptions& o) {
       o.outlier_queues = r.integer("outlier_queues", 0, kMostQueues, o.outlier_queues);
     }},
    {"outlier_threshold_tokens",
     [](JsonReader& r, StrategyOptions& o) {
       o.outlier_threshold_tokens =
           r.integer("outlier_threshold_tokens", -1, kMostTokens, o.outlier_threshold_tokens);
     }},
    {"micro_batch_tokens",
     [](JsonReader& r, StrategyOptions& o) {
       o.micro_batch_tokens = r.integer("micro_batch_tokens", -1, kMostTokens, o.micro_batch_tokens);
     }},
}};

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
  keys.sp_degree = reader.integer("sp_degree", 1, kMostGpus, keys.sp_degree);
  keys.cp_degree = reader.integer("cp_degree", 1, kMostGpus, keys.cp_degree);
  keys.gc_layers = reader.integer_or_word("gc_layers", 0, most_gc_layers, "auto", keys.gc_layers);
}

void read_option_keys(JsonReader& reader, const Strategy* strategy, StrategyOptions& options) {
  const auto is_read = [&](std::string_view key) {
    return strategy == nullptr || std::ranges::find(strategy->options, key) != strategy->options.end();
  };
  for (const Option& option : kOptions) {
    if (is_read(option.key)) option.read(reader, options);
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
  for (const Option& option : kOptions) keys.push_back(option.key);
  return keys;
}

}  // namespace packsim
