#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "packing/policies/policies.hpp"
#include "packing/strategy.hpp"

namespace packsim {

/// How a stream of samples is packed, one window at a time.
struct StreamSetting {
  /// A strategy that packs whole samples into one row and has no window of its own (can_pack_a_group()).
  std::string_view strategy;
  std::int64_t capacity_tokens = 0;  ///< length of one pack
  /// Samples that are packed together, those carried over from the previous window included; the packer never
  /// holds more.
  std::int64_t window_samples = 0;
  OverLong over_long = OverLong::error;  ///< error, drop or truncate
  Empty empty = Empty::drop;
  /// A pack that is filled to less than this fraction is not emitted: its samples are carried over and packed
  /// again with the next window. 0: no sample is carried over. Of the fractions tried with four carries, 0.9
  /// is the best or within 0.3 % of the best, and few samples are packed again (docs/streaming.md).
  double carry_below_fraction = 0.9;
  /// The most times that a sample is carried over to the next window.
  int most_carries = 4;
  OptionValues options = {};
};

/// What became of the samples so far, counted in samples and tokens. Every sample is packed, still held, or
/// counted as dropped or empty.
struct StreamCounts {
  std::int64_t n_samples = 0;
  std::int64_t n_tokens = 0;
  std::int64_t packed_samples = 0;
  std::int64_t packed_tokens = 0;
  std::int64_t n_packs = 0;
  std::int64_t dropped_samples = 0;  ///< over-long samples that were left out
  std::int64_t dropped_tokens = 0;
  std::int64_t empty_samples = 0;         ///< samples without tokens that were left out
  std::int64_t truncated_samples = 0;     ///< over-long samples that were cut short and packed
  std::int64_t truncated_tokens = 0;      ///< tokens that were cut off over-long samples
  std::int64_t carried_samples = 0;       ///< samples that were carried over at least once
  std::int64_t n_carries = 0;             ///< times that a sample was carried over, summed over all samples
  std::int64_t most_carried_samples = 0;  ///< the most samples carried over from one window to the next
  /// The longest delay of a sample. The delay is the number of later samples that the packer had taken from
  /// the stream when it emitted the sample's pack.
  std::int64_t longest_delay_samples = 0;
  std::int64_t total_delay_samples = 0;  ///< sum of the delays of all packed samples

  bool operator==(const StreamCounts&) const = default;
};

/// A sample that is not yet in an emitted pack.
struct HeldSample {
  std::uint64_t sample_index = 0;  ///< its position in the stream
  std::int32_t length_tokens = 0;  ///< its length after truncation
  std::int32_t n_carries = 0;      ///< times that it has been carried over to the next window

  bool operator==(const HeldSample&) const = default;
};

/// The complete state of a StreamPacker, without its setting.
struct StreamState {
  std::uint64_t position = 0;    ///< samples taken from the stream
  std::int64_t n_windows = 0;    ///< packed so far
  std::vector<HeldSample> held;  ///< in stream order, carried samples included
  StreamCounts counts;

  bool operator==(const StreamState&) const = default;
};

/// Emitted packs in the order in which they were packed. A pack lists the positions of its samples in the
/// stream.
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
/// The samples are packed as soon as window_samples of them are held. Packs that are filled to less than
/// carry_below_fraction are then taken apart, the least filled first, and their samples are packed again with
/// the next window. At most half a window is carried over in this way, and no pack with a sample that has
/// already been carried most_carries times. So at least half of the samples of every window are new from the
/// stream.
///
/// The packs depend only on the stream and the setting, not on how the stream was divided among calls of
/// push(). If nothing is carried over and no sample is left out, they are the packs of pack() with the same
/// window_samples.
class StreamPacker {
 public:
  /// Throws std::invalid_argument for settings that cannot pack a stream, and for a state that a packer with
  /// this setting cannot be in.
  explicit StreamPacker(const StreamSetting& setting, StreamState state = {});

  /// Takes the next samples of the stream and returns the packs that are now complete.
  ///
  /// Throws std::invalid_argument for negative lengths and, under the `error` policies, for over-long or
  /// empty samples; the message names their positions in the stream. When it throws, no sample of
  /// lengths_tokens has been taken.
  StreamPacks push(std::span<const std::int32_t> lengths_tokens);

  /// Packs all held samples as the last window and returns the packs; nothing is carried over. The stream may
  /// go on afterwards with further calls of push().
  StreamPacks finish();

  const StreamSetting& setting() const { return setting_; }
  const StreamState& state() const { return state_; }
  /// Number of samples that are still missing until the next window is packed; at least 1.
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
