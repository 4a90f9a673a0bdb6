#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "packing/batch_problem.hpp"
#include "packing/options/limits.hpp"
#include "packing/pack_set.hpp"
#include "packing/policies/policies.hpp"
#include "packing/strategy.hpp"

namespace packsim {

/// What pack() is to do: the lengths, the pack lengths, and every policy.
struct PackRequest {
  std::span<const std::int32_t> lengths_tokens;  ///< [n_samples], each >= 0; must outlive the Packing
  /// Pack length of each group, ascending. There is one, unless the strategy takes several groups. Groups of
  /// a strategy that forms whole iterations may have equal pack lengths.
  std::vector<std::int64_t> capacities_tokens;
  OverLong over_long = OverLong::error;  ///< what to do with samples longer than longest_sample_tokens()
  /// The longest sample that is packed whole; never more than the last capacity. 0: the last capacity, as
  /// under OverLong::own_pack. Packs may be longer. Strategies that choose their own pack lengths need a
  /// value.
  std::int64_t longest_tokens = 0;
  Empty empty = Empty::drop;
  /// Pack this many consecutive samples at a time; 0: the whole data set.
  std::int64_t window_samples = 0;
  OptionValues options = {};
  /// [n_samples], each in 0..extra_capacity: images, audio frames or vision tokens of each sample, of which a
  /// pack holds at most extra_capacity. Empty: no such limit. Only strategies with holds_two_limits take
  /// any, and samples are not cut. Must outlive the call of pack().
  std::span<const std::int32_t> extra_sizes = {};
  std::int64_t extra_capacity = 0;
  /// [n_samples]: samples of one number share a pack, in data set order and side by side, such as the answers
  /// to one prompt. Empty: no groups. Packed as if each group were one sample, so windows count groups, and
  /// over-long groups are refused or dropped. Must outlive the call of pack().
  std::span<const std::int64_t> group_of = {};
  /// The cluster and the groups, which strategies that form whole iterations need; null for all others. Its
  /// groups are those of capacities_tokens. Must outlive the call of pack().
  const BatchSetting* setting = nullptr;

  std::int64_t longest_sample_tokens() const {
    const std::int64_t last = capacities_tokens.back();
    const bool is_limited = longest_tokens > 0 && longest_tokens < last && over_long != OverLong::own_pack;
    return is_limited ? longest_tokens : last;
  }
};

/// What became of the samples, counted in samples and tokens. A sample that is in no pack is counted as
/// dropped or empty.
struct PackCounts {
  std::int64_t n_samples = 0;
  std::int64_t n_tokens = 0;
  std::int64_t dropped_samples = 0;  ///< over-long samples that were left out
  std::int64_t dropped_tokens = 0;
  std::int64_t empty_samples = 0;      ///< samples without tokens that were left out
  std::int64_t truncated_samples = 0;  ///< over-long samples that were cut short and packed
  std::int64_t truncated_tokens = 0;   ///< tokens that were cut off over-long samples
  std::int64_t split_samples = 0;      ///< samples that were cut into several packed pieces
  std::int64_t own_pack_samples = 0;   ///< over-long samples that got a pack of their own

  bool operator==(const PackCounts&) const = default;
};

/// The packs of every group, and the items in them. An item is a sample, or a piece of one.
struct Packing {
  const Strategy* strategy = nullptr;
  std::vector<std::int64_t> capacities_tokens;   ///< [n_groups]
  std::vector<PackSet> groups;                   ///< [n_groups]
  PlannedIterations planned;                     ///< empty unless the strategy forms whole iterations
  std::vector<Piece> pieces;                     ///< [n_items], or empty: item i is the whole of sample i
  std::vector<std::int32_t> cut_lengths_tokens;  ///< [n_items], or empty if pieces is
  std::span<const std::int32_t> lengths_tokens;  ///< [n_items] lengths of the items
  PackCounts counts;
  /// Which tokens attend to each other; packing does not depend on it. Rows of Layout::rows are always
  /// separate.
  Attention attention = Attention::within_samples;

  std::size_t n_packs() const;
  /// The same packing. It needs the lengths that this one was made of.
  Packing clone() const;
  /// The part of a sample that an item stands for.
  Piece piece(ItemIndex item) const;

  Packing() = default;
  Packing(Packing&&) = default;
  Packing& operator=(Packing&&) = default;
  Packing& operator=(const Packing&) = delete;

 private:
  Packing(const Packing&) = default;  // lengths_tokens may point into cut_lengths_tokens: see clone()
};

/// The strategy of that name. Throws std::invalid_argument for an unknown name, with the known ones in the
/// message.
const Strategy& known_strategy(std::string_view name);

/// Throws std::invalid_argument for an option that no strategy has, for a value that this strategy does not
/// accept for an option that it reads, and for batch_tokens beside samples_per_iteration.
void check_options(const Strategy& strategy, const OptionValues& options);

/// Throws the std::invalid_argument that pack() would throw for this request, without packing anything.
void check_request(std::string_view strategy, const PackRequest& request);

/// Packs samples with the named strategy under the request's policies.
///
/// Throws std::invalid_argument for an unknown strategy, bad options, negative lengths, and, under the
/// `error` policies, over-long or empty samples (the message names the first ones and how many there are).
/// Throws std::logic_error if the strategy returned a wrong packing, see check_packing().
Packing pack(std::string_view strategy, const PackRequest& request);

/// Checks that every item is in exactly one pack, or left out for a reason that the counts give, and that no
/// pack exceeds its capacity except packs of one over-long item. If the strategy has formed iterations, it
/// also checks that every pack is placed once, on GPUs that exist and that train nothing else in that round.
///
/// Throws std::logic_error naming the item or pack. pack() calls it, because a silently lost sample is worse
/// than a slow check.
void check_packing(const Packing& packing, const PackRequest& request);

}  // namespace packsim
