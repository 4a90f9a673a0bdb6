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

void read_costs(JsonReader& reader, StrategyOptions& options) {
  const std::vector<std::string> names(flexsp_costs().begin(), flexsp_costs().end());
  const auto fallback = std::ranges::find(names, options.costs) - names.begin();
  options.costs = flexsp_costs()[reader.one_of("costs", names, static_cast<std::size_t>(fallback))];
}

struct Option {
  std::string_view key;
  void (*read)(JsonReader& reader, StrategyOptions& options);
};

constexpr int kMostRounds = 1'000'000;
constexpr int kMostQueues = 1000;
constexpr int kMostBuckets = 1'000'000;
constexpr int kMostTries = 1000;
constexpr int kMostProcesses = 65'536;
constexpr std::int64_t kMostNodes = 1'000'000'000;

constexpr std::array<Option, 27> kOptions = {{
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
    {"window_iterations",
     [](JsonReader& r, StrategyOptions& o) {
       o.window_iterations = r.integer("window_iterations", 0, kMostTokens, o.window_iterations);
     }},
    {"flexsp_buckets",
     [](JsonReader& r, StrategyOptions& o) {
       o.flexsp_buckets = r.integer("flexsp_buckets", 1, kMostBuckets, o.flexsp_buckets);
     }},
    {"micro_batch_tries",
     [](JsonReader& r, StrategyOptions& o) {
       o.micro_batch_tries = r.integer("micro_batch_tries", 1, kMostTries, o.micro_batch_tries);
     }},
    {"min_sp",
     [](JsonReader& r, StrategyOptions& o) { o.min_sp = r.integer("min_sp", 1, kMostGpus, o.min_sp); }},
    {"costs", read_costs},
    {"integer_programs",
     [](JsonReader& r, StrategyOptions& o) {
       o.integer_programs = r.boolean("integer_programs", o.integer_programs);
     }},
    {"solve_time_limit_s",
     [](JsonReader& r, StrategyOptions& o) {
       if (const auto limit = r.optional_positive("solve_time_limit_s")) o.solve_time_limit_s = *limit;
     }},
    {"solve_nodes",
     [](JsonReader& r, StrategyOptions& o) {
       o.solve_nodes = r.integer("solve_nodes", 0, kMostNodes, o.solve_nodes);
     }},
    {"economise",
     [](JsonReader& r, StrategyOptions& o) { o.economise = r.boolean("economise", o.economise); }},
    {"batch_tokens",
     [](JsonReader& r, StrategyOptions& o) {
       o.batch_tokens = r.integer("batch_tokens", 0, kMostTokens, o.batch_tokens);
     }},
    {"samples_per_iteration",
     [](JsonReader& r, StrategyOptions& o) {
       o.samples_per_iteration = r.integer("samples_per_iteration", 0, kMostSamples, o.samples_per_iteration);
       if (o.samples_per_iteration > 0 && o.batch_tokens > 0)
         r.refuse("samples_per_iteration", "no samples_per_iteration beside batch_tokens");
     }},
    {"planner_processes",
     [](JsonReader& r, StrategyOptions& o) {
       o.planner_processes = r.integer("planner_processes", 1, kMostProcesses, o.planner_processes);
     }},
    {"look_ahead_batches",
     [](JsonReader& r, StrategyOptions& o) {
       o.look_ahead_batches = r.integer("look_ahead_batches", 0, kMostProcesses, o.look_ahead_batches);
     }},
    {"solve_s",
     [](JsonReader& r, StrategyOptions& o) {
       if (const auto time_s = r.optional_positive("solve_s")) o.solve_s = *time_s;
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
