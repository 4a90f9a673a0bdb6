#include "reports/formats/trace_tracks.hpp"

namespace packsim::formats_detail {

TraceTracks::TraceTracks(std::span<const StrategyStep> steps, int n_ranks) {
  std::map<LaneKey, std::uint32_t> numbers;
  const auto key = [](const TracedLane& lane) {
    return LaneKey{lane.rank, lane.stage, lane.first_gpu, lane.n_gpus};
  };
  std::map<LaneKey, TracedLane> lanes;
  for (const StrategyStep& step : steps) {
    for (const TracedLane& lane : step.step.lanes) {
      if (lane.rank < n_ranks) lanes[key(lane)] = lane;
      has_stages_ = has_stages_ || lane.stage > 0;
    }
  }
  for (const auto& [lane_key, lane] : lanes) {
    numbers[lane_key] = static_cast<std::uint32_t>(processes_.size());
    processes_.push_back(lane);
  }
  std::map<TrackKey, TraceTrack> tracks;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    process_of_.emplace_back();
    for (const TracedLane& lane : steps[s].step.lanes) {
      const auto found = numbers.find(key(lane));
      process_of_.back().push_back(found == numbers.end() ? std::nullopt : std::optional(found->second));
    }
    add_tracks(s, steps[s].step, tracks);
  }
  std::map<TrackKey, std::uint32_t> track_numbers;
  for (const auto& [track_key, track] : tracks) {
    track_numbers[track_key] = static_cast<std::uint32_t>(tracks_.size());
    tracks_.push_back(track);
  }
  for (const auto& [stream, track_key] : key_of_) track_of_[stream] = track_numbers.at(track_key);
}

void TraceTracks::add_tracks(std::size_t step, const TracedStep& traced,
                             std::map<TrackKey, TraceTrack>& tracks) {
  std::map<StreamId, TraceTrack> streams;
  for (const TracedOp& op : traced.ops) {
    const std::optional<std::uint32_t> number = process(step, op.rank);
    if (!number) continue;
    TraceTrack& stream = streams[op.stream];
    stream.process = *number;
    stream.kind = op.stream_kind;
    stream.causes.insert(op.cause);
  }
  std::map<TrackKey, int> n_alike;
  for (const auto& [id, stream] : streams) {
    // A computing stream has other causes in other steps, but there is one.
    const Cause first = stream.kind == StreamKind::compute ? Cause::linear : *stream.causes.begin();
    const int which = n_alike[{stream.process, stream.kind, first, 0}]++;
    const TrackKey key{stream.process, stream.kind, first, which};
    key_of_[{step, id}] = key;
    TraceTrack& track = tracks[key];
    track.process = stream.process;
    track.kind = stream.kind;
    track.causes.insert(stream.causes.begin(), stream.causes.end());
  }
}

std::optional<std::uint32_t> TraceTracks::process(std::size_t step, std::uint32_t lane) const {
  return process_of_[step][lane];
}

}  // namespace packsim::formats_detail
