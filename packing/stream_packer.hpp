#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "packing/policies.hpp"
#include "packing/strategy.hpp"

namespace packsim {

/// How a stream of samples is packed, a window of it at a time.
struct StreamSetting {
  std::string_view strategy;             ///< one that packs whole samples into one row, all that it is given
  std::int64_t capacity_tokens = 0;      ///< of one pack
  std::int64_t window_samples = 0;       ///< looked at together, carried ones included; no more are ever held
  OverLong over_long = OverLong::error;  ///< error, drop or truncate
  Empty empty = Empty::drop;
  /// Packs with less of their length filled wait for the next window; 0: none does. With four carries 0.9 is
  /// the best of the fractions tried, or within 0.3 % of it, and few samples are packed again with it
  /// (docs/streaming.md).
  double carry_below_fraction = 0.9;
  /// No sample is carried over more windows than this.
  int most_carries = 4;
  OptionValues options = {};
};

/// What became of the samples so far, in samples and tokens: every one is packed, held, or counted here.
struct StreamCounts {
  std::int64_t n_samples = 0;
  std::int64_t n_tokens = 0;
  std::int64_t packed_samples = 0;
  std::int64_t packed_tokens = 0;
  std::int64_t n_packs = 0;
  std::int64_t dropped_samples = 0;  ///< over-long, left out
  std::int64_t dropped_tokens = 0;
  std::int64_t empty_samples = 0;         ///< without tokens, left out
  std::int64_t truncated_samples = 0;     ///< cut short; still packed
  std::int64_t truncated_tokens = 0;      ///< the tokens cut off
  std::int64_t carried_samples = 0;       ///< carried at least once
  std::int64_t n_carries = 0;             ///< samples packed once more, summed over windows
  std::int64_t most_carried_samples = 0;  ///< from one window into the next
  /// The delay of a sample: how many the stream had after it when its pack was emitted.
  std::int64_t longest_delay_samples = 0;
  std::int64_t total_delay_samples = 0;  ///< of all packed samples

  bool operator==(const StreamCounts&) const = default;
};

/// A sample that is not in an emitted pack yet.
struct HeldSample {
  std::uint64_t sample_index = 0;  ///< its position in the stream
  std::int32_t length_tokens = 0;  ///< what is packed of it
  std::int32_t n_carries = 0;      ///< windows that it was packed in to no avail

  bool operator==(const HeldSample&) const = default;
};

/// All that a StreamPacker knows beside its setting.
struct StreamState {
  std::uint64_t position = 0;    ///< samples taken from the stream
  std::int64_t n_windows = 0;    ///< packed so far
  std::vector<HeldSample> held;  ///< in stream order, carried ones among them
  StreamCounts counts;

  bool operator==(const StreamState&) const = default;
};

/// Complete packs in the order in which they were packed, each with its samples' positions in the stream.
struct StreamPacks {
  std::vector<std::uint64_t> samples;
  std::vector<std::uint64_t> offsets = {0};  ///< [n_packs + 1]: pack p is samples[offsets[p]..offsets[p + 1])

  std::size_t n_packs() const { return offsets.size() - 1; }
  std::span<const std::uint64_t> operator[](std::size_t pack) const {
    return {samples.data() + offsets[pack], samples.data() + offsets[pack + 1]};
  }

  bool operator==(const StreamPacks&) const = default;
};

/// Packs a stream of any length in windows, with bounded memory and bounded delay.
///
/// As soon as window_samples samples are held they are packed. Of the packs, those filled below
/// carry_below_fraction go back, least filled first, to be packed with the next window: together at most half
/// a window, and none with a sample that was carried most_carries times. So every window takes half of its
/// samples or more from the stream. The packs depend on the stream and the setting alone, not on how push()
/// was fed; without carrying they are those of pack() with the same window_samples, where no sample is left
/// out.
class StreamPacker {
 public:
  /// Throws std::invalid_argument for settings that cannot pack a stream, and for a state that is not one of
  /// a packer of this setting.
  explicit StreamPacker(const StreamSetting& setting, StreamState state = {});

  /// Takes the next samples of the stream; returns the packs that are complete now.
  ///
  /// Throws std::invalid_argument for negative lengths and, under the `error` policies, over-long or empty
  /// samples, naming their positions in the stream; then none of lengths_tokens has been taken.
  StreamPacks push(std::span<const std::int32_t> lengths_tokens);

  /// Packs what is held, as the last window. Samples may follow, as after a beginning.
  StreamPacks finish();

  const StreamSetting& setting() const { return setting_; }
  const StreamState& state() const { return state_; }
  /// How many samples are missing until a window is packed; at least 1.
  std::int64_t room_samples() const;

 private:
  void check_lengths(std::span<const std::int32_t> lengths_tokens) const;
  void take(std::int32_t length_tokens);
  void pack_window(bool is_last, StreamPacks& packs);
  void check_books() const;

  StreamSetting setting_;
  std::int64_t carry_below_tokens_;
  StreamState state_;
};

}  // namespace packsim
