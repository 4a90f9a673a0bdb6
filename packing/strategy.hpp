#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "packing/options/option.hpp"
#include "packing/options/option_values.hpp"
#include "packing/pack_set.hpp"
#include "packing/policies.hpp"

namespace packsim {

/// What a strategy is given. Lengths longer than the capacity and lengths of zero are passed on as they are:
/// `own_packs` and `keep_empty` say what a strategy does with them.
struct PackProblem {
  std::span<const std::int32_t> lengths_tokens;  ///< [n_items], each >= 0
  std::int64_t capacity_tokens = 0;              ///< of one pack
  bool own_packs = false;   ///< an item over the capacity: true gives it its own pack, false skips it
  bool keep_empty = false;  ///< an item of zero tokens: true packs it, false skips it
  OptionValues options = {};

  bool skips(std::int32_t length_tokens) const {
    return (length_tokens > capacity_tokens && !own_packs) || (length_tokens == 0 && !keep_empty);
  }
};

struct BatchProblem;
struct BatchPlan;

/// How the samples of one micro-batch lie in memory.
enum class Layout {
  packed,  ///< one row: the samples one after another, each attending to itself only
  rows,    ///< one row per sample
};

/// All that there is to know of a strategy. Each is defined in its file in packing/strategies/.
struct Strategy {
  std::string_view name;
  std::string_view summary;
  std::string_view complexity;
  std::string_view source;
  Layout layout = Layout::packed;
  /// Packs all items into one group. Null for strategies over several groups.
  PackSet (*pack)(const PackProblem&) = nullptr;
  /// Packs over several groups with ascending capacities; returns one pack set per group.
  std::vector<PackSet> (*pack_groups)(const PackProblem&,
                                      std::span<const std::int64_t> capacities_tokens) = nullptr;
  /// Forms whole iterations; null for strategies whose packs a schedule puts together.
  BatchPlan (*plan_batches)(const BatchProblem&) = nullptr;
  /// True where the strategy cuts samples wherever a pack ends.
  bool cuts_samples = false;
  /// The options that the strategy reads.
  std::span<const Option* const> options = {};
  /// How its packs become iterations where nothing else is asked for.
  PackOrder default_order = PackOrder::shuffled;
  /// What window_samples is where nothing else is asked for; 0: the whole data set.
  std::int64_t default_window_samples = 0;
  /// plan_batches: takes any number of groups. False: exactly one.
  bool mixes_groups = false;
  /// plan_batches: groups are not given but found, from what memory and prices allow.
  bool chooses_groups = false;
  /// Plans by what packs cost on a cluster, which the setting must then say.
  bool needs_prices = false;
};

/// What hbp can run inside a group: strategies that pack whole samples into one row, however many there are.
inline bool can_pack_a_group(const Strategy& strategy) {
  return strategy.pack != nullptr && strategy.layout == Layout::packed && !strategy.cuts_samples &&
         strategy.default_window_samples == 0;
}

/// Every strategy, in the order in which lists show them.
std::span<const Strategy> strategies();

/// The strategy of that name, or null.
const Strategy* find_strategy(std::string_view name);

/// The option of that name that the strategy reads, or null.
const Option* find_option(const Strategy& strategy, std::string_view name);

/// The options of all strategies, one of each name: where strategies give one different ranges, the widest.
std::span<const Option* const> all_options();

/// One of all_options(), or null.
const Option* find_option(std::string_view name);

}  // namespace packsim
