#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "packing/sequence_parallelism.hpp"
#include "packing/strategy.hpp"
#include "scenarios/loader/json/json_reader.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/search_space/search_dimensions.hpp"

namespace packsim {

/// What "packing" says for every strategy and an entry of "strategies" for itself. Reading an entry starts
/// from the values of "packing".
struct StrategyKeys {
  std::optional<std::int64_t> capacity_tokens;
  SequenceParallelism sequence = {};
  std::optional<int> gc_layers;  ///< none: "auto"
  OptionValues options;
  OptionValues policies;       ///< those that were said, by their names in kPolicies
  bool searches_plan = false;  ///< "plan" is "auto"
  std::optional<double> search_time_limit_s;
  /// [kSearchDimensions] the values to try; empty where none are said
  std::array<std::vector<int>, kSearchDimensions.size()> searched_values;
};

/// Values of each dimension of a search that a file says, and how long it may take. parallelism: where a
/// plan's own value may be said, which then is the only one.
void read_search_keys(JsonReader& reader, JsonReader& parallelism, const ParallelPlan& plan,
                      StrategyKeys& keys);

/// capacity_tokens, sp_degree, cp_degree and gc_layers. most_gc_layers: the model's layers.
void read_group_keys(JsonReader& reader, int most_gc_layers, StrategyKeys& keys);

/// Whether "plan" is "auto": packsim searches the groups.
void read_plan_key(JsonReader& reader, StrategyKeys& keys);

/// Options by their records: those of a strategy, or all_options().
void read_option_keys(JsonReader& reader, std::span<const Option* const> read, OptionValues& options);

/// Policies by their records, and "balance".
void read_policy_keys(JsonReader& reader, OptionValues& policies);

}  // namespace packsim
