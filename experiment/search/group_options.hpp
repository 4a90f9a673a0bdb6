#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "models/parallel_plan.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/search_space/plan_hash.hpp"

namespace packsim {

/// The least multiple that is no less than the value.
inline std::int64_t round_up_to(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Packs of one length at one degree of sequences, with the fewest checkpointed layers with which full packs
/// fit in memory.
struct GroupOption {
  GroupSpec group;
  ParallelPlan plan = {};
  bool fits = true;  ///< whether full packs fit in memory
  /// Whether a pack of the longest sample alone fits, in a micro-batch of its own.
  bool may_fit = true;
  /// Factor of filling and draining a pipeline on the time of an iteration of full packs; 1 without one.
  double fill_factor = 1;
  /// Whether full packs make up an iteration of the size asked for.
  bool fills_iteration = false;
  /// Whether one pack on every rank would be more than an iteration, were they full.
  bool is_above_share = false;
};

/// How the GPUs of each degree share packs: with as much Ulysses as possible, with as much as there is room
/// for inside a node, or with as much of a ring as possible.
enum class Sharing : std::uint8_t { ulysses, node, ring };

/// The groups that a search may choose from. They are the same for all strategies, so each is made once.
class GroupOptions {
 public:
  /// longest_tokens: the longest sample that packs have to hold. longest_packed_tokens: the longest one that
  /// is packed; it is shorter where longer ones are dropped. most_above_share_tokens: packs of up to this
  /// length may be longer than a rank's share of an iteration. The scenario is kept by reference.
  GroupOptions(const Scenario& scenario, std::int64_t longest_tokens, std::int64_t longest_packed_tokens,
               std::int64_t most_above_share_tokens)
      : scenario_(scenario),
        longest_tokens_(longest_tokens),
        longest_packed_tokens_(longest_packed_tokens),
        most_above_share_tokens_(most_above_share_tokens) {}

  const Scenario& scenario() const { return scenario_; }
  std::int64_t longest_tokens() const { return longest_tokens_; }

  /// The ways to share a pack (ways_to_try()).
  std::vector<SequenceParallelism> sequences(const ParallelPlan& base) const;
  /// The longest pack of any option.
  std::int64_t longest_pack(const ParallelPlan& base, const SequenceParallelism& sequence) const;
  /// One group of a base plan (base_plans()).
  const GroupOption& of(const ParallelPlan& base, const SequenceParallelism& sequence,
                        std::int64_t capacity_tokens);
  /// Every way to share a pack with every pack length at which 1, 2, 3, ... packs on every rank make up an
  /// iteration, with the length of the longest sample, and with lengths above a rank's share of an iteration.
  const std::vector<GroupOption>& all(const ParallelPlan& base);
  /// One group for each degree, in ascending order, with as many tokens on each GPU as fit with this number
  /// of checkpointed layers.
  const std::vector<GroupOption>& of_depth(const ParallelPlan& base, int gc_layers, Sharing sharing);

 private:
  const Scenario& scenario_;
  std::int64_t longest_tokens_;
  std::int64_t longest_packed_tokens_;
  std::int64_t most_above_share_tokens_;
  // References to elements stay valid.
  std::unordered_map<ParallelPlan, std::deque<GroupOption>, PlanHash> made_;
  std::unordered_map<ParallelPlan, std::vector<GroupOption>, PlanHash> all_;
  // By the base plan with its checkpointed layers.
  std::unordered_map<ParallelPlan, std::map<Sharing, std::vector<GroupOption>>, PlanHash> of_depth_;
};

}  // namespace packsim
