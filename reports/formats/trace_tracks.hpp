#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "experiment/trace_strategy.hpp"

namespace packsim::formats_detail {

/// A track of a trace: one stream of a lane, in all of its steps.
struct TraceTrack {
  std::uint32_t process = 0;
  StreamKind kind = StreamKind::compute;
  std::set<Cause> causes;  ///< of its operations
};

/// Which process and track of a trace the lanes and streams of its steps are. A lane of the same GPUs is the
/// same process in all steps, and its stream of the same purpose the same track.
class TraceTracks {
 public:
  /// n_ranks: lanes of later data-parallel ranks have no process.
  TraceTracks(std::span<const StrategyStep> steps, int n_ranks);

  /// Indices are process numbers, in the order of ranks and stages.
  const std::vector<TracedLane>& processes() const { return processes_; }
  /// Indices are track numbers.
  const std::vector<TraceTrack>& tracks() const { return tracks_; }
  bool has_stages() const { return has_stages_; }
  std::optional<std::uint32_t> process(std::size_t step, std::uint32_t lane) const;
  /// The stream's lane must have a process.
  std::uint32_t track(std::size_t step, StreamId stream) const { return track_of_.at({step, stream}); }

 private:
  using LaneKey = std::tuple<int, int, int, int>;  // rank, stage, first GPU, GPUs
  // Process, kind, first cause, and which of such streams.
  using TrackKey = std::tuple<std::uint32_t, StreamKind, Cause, int>;

  void add_tracks(std::size_t step, const TracedStep& traced, std::map<TrackKey, TraceTrack>& tracks);

  std::vector<TracedLane> processes_;
  std::vector<TraceTrack> tracks_;
  std::vector<std::vector<std::optional<std::uint32_t>>> process_of_;  // [n_steps][n_lanes]
  std::map<std::pair<std::size_t, StreamId>, std::uint32_t> track_of_;
  std::map<std::pair<std::size_t, StreamId>, TrackKey> key_of_;
  bool has_stages_ = false;
};

}  // namespace packsim::formats_detail
