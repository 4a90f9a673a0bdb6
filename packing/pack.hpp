#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "packing/batch_problem.hpp"
#include "packing/options/limits.hpp"
#include "packing/pack_set.hpp"
#include "packing/policies.hpp"
#include "packing/strategy.hpp"

namespace packsim {

/// A job for pack(): lengths, where they go, and every policy by name.
struct PackRequest {
  std::span<const std::int32_t> lengths_tokens;  ///< [n_samples], each >= 0; must outlive the Packing
  /// Pack length of each group, ascending; one unless the strategy takes several. Groups of a strategy that
  /// forms iterations may have equal ones.
  std::vector<std::int64_t> capacities_tokens;
  OverLong over_long = OverLong::error;  ///< longer than longest_sample_tokens()
  /// Of a sample, at most the last capacity, which it is where this is 0. Strategies that choose their own
  /// pack lengths need it.
  std::int64_t longest_tokens = 0;
  Empty empty = Empty::drop;
  std::int64_t window_samples = 0;  ///< pack every so many samples on their own; 0: the whole data set
  OptionValues options = {};
  /// For strategies that form iterations; its groups are those of capacities_tokens. Must outlive pack().
  const BatchSetting* setting = nullptr;

  std::int64_t longest_sample_tokens() const {
    const std::int64_t last = capacities_tokens.back();
    return longest_tokens > 0 && longest_tokens < last ? longest_tokens : last;
  }
};

/// What became of the samples, in samples and tokens. Every sample is packed, or counted here.
struct PackCounts {
  std::int64_t n_samples = 0;
  std::int64_t n_tokens = 0;
  std::int64_t dropped_samples = 0;  ///< over-long, left out
  std::int64_t dropped_tokens = 0;
  std::int64_t empty_samples = 0;      ///< without tokens, left out
  std::int64_t truncated_samples = 0;  ///< cut short; still packed
  std::int64_t truncated_tokens = 0;   ///< the tokens cut off
  std::int64_t split_samples = 0;      ///< packed in several pieces; nothing lost
  std::int64_t own_pack_samples = 0;   ///< over-long, in a pack of their own

  bool operator==(const PackCounts&) const = default;
};

/// The packs of every group, and the items that they speak of.
struct Packing {
  const Strategy* strategy = nullptr;
  std::vector<std::int64_t> capacities_tokens;   ///< [n_groups]
  std::vector<PackSet> groups;                   ///< [n_groups]
  PlannedIterations planned;                     ///< of strategies that form iterations
  std::vector<Piece> pieces;                     ///< empty: item i is the whole of sample i
  std::vector<std::int32_t> cut_lengths_tokens;  ///< [n_items] where pieces is not empty
  std::span<const std::int32_t> lengths_tokens;  ///< [n_items] lengths of the items
  PackCounts counts;

  std::size_t n_packs() const;
  /// The part of a sample that item `item` stands for.
  Piece piece(ItemIndex item) const;

  Packing() = default;
  Packing(Packing&&) = default;
  Packing& operator=(Packing&&) = default;
  Packing(const Packing&) = delete;  // lengths_tokens may point into cut_lengths_tokens
  Packing& operator=(const Packing&) = delete;
};

/// The strategy of that name. Throws std::invalid_argument naming the known ones.
const Strategy& known_strategy(std::string_view name);

/// Throws std::invalid_argument for an option that no strategy has, and for one that this strategy reads with
/// a value that it does not accept.
void check_options(const Strategy& strategy, const OptionValues& options);

/// Refuses what pack() would refuse, without packing: see there.
void check_request(std::string_view strategy, const PackRequest& request);

/// Packs samples with the named strategy under the request's policies.
///
/// Throws std::invalid_argument for an unknown strategy, bad options, negative lengths, and, under the
/// `error` policies, over-long or empty samples (naming the first ones and how many there are);
/// std::logic_error if a strategy broke its promise (see check_packing).
Packing pack(std::string_view strategy, const PackRequest& request);

/// Checks that every item is in exactly one pack, or skipped for the reason that the counts give, and that no
/// pack is over its capacity except packs of one over-long item; where the strategy has formed iterations,
/// that every pack is placed once, on GPUs that are there and train nothing else in that round. Throws
/// std::logic_error naming the item or pack. pack() calls it: a silently lost sample is worse than a slow
/// check.
void check_packing(const Packing& packing, const PackRequest& request);

}  // namespace packsim
