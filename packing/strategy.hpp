#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "packing/options/option.hpp"
#include "packing/options/option_values.hpp"
#include "packing/pack_set.hpp"
#include "packing/policies/policies.hpp"

namespace packsim {

/// The input of a strategy. Lengths above the capacity and lengths of zero are passed on unchanged;
/// `own_packs` and `keep_empty` say what the strategy does with them.
struct PackProblem {
  std::span<const std::int32_t> lengths_tokens;  ///< [n_items], each >= 0
  std::int64_t capacity_tokens = 0;              ///< length of one pack
  /// An item above the capacity gets a pack of its own (true) or is skipped (false).
  bool own_packs = false;
  bool keep_empty = false;  ///< an item of zero tokens is packed (true) or skipped (false)
  OptionValues options = {};
  /// [n_items], each in 0..extra_capacity, or empty: sizes of which a pack holds at most extra_capacity,
  /// beside its tokens. Only strategies that hold two limits get any.
  std::span<const std::int32_t> extra_sizes = {};
  std::int32_t extra_capacity = 0;

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

/// The plans that the code that a strategy is from can run with it.
struct PlanLimits {
  int most_zero_stage = 3;
  bool has_pipelines = true;
  bool has_latent_attention = true;
};

/// Everything that packsim knows about a strategy. Each strategy is defined in its own file in
/// packing/strategies/.
struct Strategy {
  std::string_view name;
  std::string_view summary;
  std::string_view complexity;
  std::string_view source;
  Layout layout = Layout::packed;
  /// Packs all items into one group. Null for strategies that take several groups or form whole iterations.
  PackSet (*pack)(const PackProblem&) = nullptr;
  /// Packs all items into several groups with ascending capacities, and returns one pack set for each group.
  std::vector<PackSet> (*pack_groups)(const PackProblem&,
                                      std::span<const std::int64_t> capacities_tokens) = nullptr;
  /// Packs all items and forms whole iterations. Null for strategies that only pack; make_schedule() then
  /// forms the iterations.
  BatchPlan (*plan_batches)(const BatchProblem&) = nullptr;
  /// True if the strategy cuts a sample wherever a pack is full.
  bool cuts_samples = false;
  /// True if packs can be held to a second limit, PackProblem::extra_capacity.
  bool holds_two_limits = false;
  /// True if no pack holds more than one sample.
  bool trains_samples_alone = false;
  /// True if every plan gives an iteration a fixed number of samples, whatever tokens they have.
  bool counts_samples = false;
  /// The options that the strategy reads.
  std::span<const Option* const> options = {};
  /// Values of options that a search of a plan tries besides the defaults, each set for itself, unless the
  /// scenario gives one of its options; null: none.
  std::vector<OptionValues> (*searched_options)(std::int64_t capacity_tokens) = nullptr;
  /// Other plans are not tried by a search for the strategy's own plan.
  PlanLimits plan_limits = {};
  /// The order of packs in the schedule, unless the scenario says otherwise.
  PackOrder default_order = PackOrder::shuffled;
  /// The value of window_samples, unless the scenario says otherwise; 0: the whole data set.
  std::int64_t default_window_samples = 0;
  /// Says, for plan_batches, whether the strategy takes any number of groups instead of exactly one.
  bool mixes_groups = false;
  /// Says, for plan_batches, whether groups are chosen among those that fit in memory instead of given by the
  /// scenario.
  bool chooses_groups = false;
  /// True if the strategy needs the cost of packs on the cluster (BatchGroup::cost).
  bool needs_prices = false;

  /// The padding, unless the scenario says otherwise: rows of a micro-batch are made equally long, as in
  /// every trainer that does not put samples one after another.
  Padding default_padding() const { return layout == Layout::rows ? Padding::longest : Padding::none; }
  bool forms_iterations() const { return plan_batches != nullptr; }
  /// Whether the scenario gives several groups.
  bool takes_groups() const { return pack_groups != nullptr || (mixes_groups && !chooses_groups); }
};

/// Whether hbp can use the strategy to pack a group: it packs whole samples into one row, and has no window
/// of its own.
inline bool can_pack_a_group(const Strategy& strategy) {
  return strategy.pack != nullptr && strategy.layout == Layout::packed && !strategy.cuts_samples &&
         strategy.default_window_samples == 0;
}

/// All strategies, in the order in which lists show them.
std::span<const Strategy> strategies();

/// The strategy of that name, or null.
const Strategy* find_strategy(std::string_view name);

/// The option of that name that the strategy reads, or null.
const Option* find_option(const Strategy& strategy, std::string_view name);

/// The options of all strategies, each name once. If strategies give an option different ranges, the one with
/// the widest range is listed.
std::span<const Option* const> all_options();

/// The option of that name among all_options(), or null.
const Option* find_option(std::string_view name);

}  // namespace packsim
