#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "packing/pack_set.hpp"
#include "packing/policies.hpp"

namespace packsim {

/// Everything that a strategy may be told beside lengths and capacity. A strategy reads the fields that its
/// row in the table names and leaves the others alone.
struct StrategyOptions {
  std::uint32_t seed = 1024;           ///< of the shuffle; 1024 is OmniBal's
  bool shuffle = true;                 ///< false takes the samples in data set order
  int rounds = 50;                     ///< isf: C, how often badly filled packs are dissolved
  std::int64_t threshold_tokens = -1;  ///< isf: packs with at least as many tokens stay; -1: capacity - 128
  std::int64_t max_samples_per_pack = 0;  ///< spfhp, lpfhp: 0 means no limit; axolotl_multipack: 200
  std::int64_t batch_samples = 1;   ///< none, sorted: rows of a micro-batch; 0: as many as capacity holds
  bool padded_batches = true;       ///< sorted: a row counts as long as the longest of its micro-batch
  std::string_view packer = "isf";  ///< hbp: the strategy inside each group
  bool greedy_fill = true;          ///< hbp: top larger packs up with samples of smaller groups
  /// verl_kk, and wlb where packs have no price: a sample of s tokens weighs linear_weight_tokens * s + s^2.
  /// 24576 is verl's, six times the hidden size of a model of 7B parameters.
  std::int64_t linear_weight_tokens = 24576;
  int outlier_queues = 2;  ///< wlb: queues in which long samples wait for each other
  /// wlb: samples at least as long wait; -1: half the capacity.
  std::int64_t outlier_threshold_tokens = -1;
  /// wlb: mean tokens of a micro-batch, which says how many there are; -1: half the capacity.
  std::int64_t micro_batch_tokens = -1;
  std::int64_t window_iterations = 0;  ///< planner: iterations within which samples stay; 0: all
  int flexsp_buckets = 16;             ///< flexsp: Q, more where so few would not fit
  int micro_batch_tries = 5;  ///< flexsp: M', numbers of micro-batches that are tried, from the fewest on
  int min_sp = 1;             ///< flexsp: groups of fewer GPUs are not formed; the released code has 2
  std::string_view costs = "profile";  ///< flexsp: what it plans by; see flexsp_costs()
  double solve_time_limit_s = 0;       ///< flexsp: of one integer program; 0: none
  bool integer_programs = false;       ///< flexsp: false lets our local search do without them
  std::int64_t solve_nodes = 1000;     ///< flexsp: of the search tree of one integer program; 0: no limit
  bool economise = true;  ///< flexsp: what does not decide the makespan takes the least GPU time; ours
  /// Online strategies: tokens of a global batch where they are not the setting's; 0: they are.
  std::int64_t batch_tokens = 0;
  std::int64_t samples_per_iteration = 0;  ///< instead of tokens; 0: tokens say how large a batch is
  int planner_processes = 1;               ///< flexsp: global batches that are planned at the same time
  int look_ahead_batches = 1;              ///< flexsp: see PlannerService
  double solve_s = 0;                      ///< flexsp: to plan a global batch; 0: as long as it takes here
};

/// What a strategy is given. Lengths longer than the capacity and lengths of zero are passed on as they are:
/// `own_packs` and `keep_empty` say what a strategy does with them.
struct PackProblem {
  std::span<const std::int32_t> lengths_tokens;  ///< [n_items], each >= 0
  std::int64_t capacity_tokens = 0;              ///< of one pack
  bool own_packs = false;   ///< an item over the capacity: true gives it its own pack, false skips it
  bool keep_empty = false;  ///< an item of zero tokens: true packs it, false skips it
  StrategyOptions options = {};

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

/// One row of the strategy table.
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
  /// The names of the options that the strategy reads.
  std::span<const std::string_view> options = {};
  /// How its packs become iterations where nothing else is asked for.
  PackOrder default_order = PackOrder::shuffled;
  /// What window_samples is where nothing else is asked for; 0: the whole data set.
  std::int64_t default_window_samples = 0;
  /// plan_batches: takes any number of groups. False: exactly one.
  bool mixes_groups = false;
  /// plan_batches: groups are not given but found, from what memory and prices allow.
  bool chooses_groups = false;
};

/// What hbp can run inside a group: strategies that pack whole samples into one row, however many there are.
inline bool can_pack_a_group(const Strategy& strategy) {
  return strategy.pack != nullptr && strategy.layout == Layout::packed && !strategy.cuts_samples &&
         strategy.default_window_samples == 0;
}

/// Every strategy, in the order in which lists show them.
std::span<const Strategy> strategies();

/// The values of StrategyOptions::costs: "profile" for BatchGroup::cost, or one of the models whose constants
/// FlexSP's code ships.
std::span<const std::string_view> flexsp_costs();

/// The strategy of that name, or null.
const Strategy* find_strategy(std::string_view name);

}  // namespace packsim
