#pragma once

#include "models/step/pass/pass_list.hpp"

namespace packsim {

/// Time of a part of a micro-batch on one GPU whose operations run one after another.
struct WorkTime {
  NsByCause by_cause_ns = {};
  std::int64_t total_ns = 0;

  void add(Cause cause, std::int64_t time_ns) {
    by_cause_ns[static_cast<std::size_t>(cause)] += time_ns;
    total_ns += time_ns;
  }
  std::int64_t of(Cause cause) const { return by_cause_ns[static_cast<std::size_t>(cause)]; }
  WorkTime& operator+=(const WorkTime& other) {
    for (std::size_t c = 0; c < by_cause_ns.size(); ++c) by_cause_ns[c] += other.by_cause_ns[c];
    total_ns += other.total_ns;
    return *this;
  }
  WorkTime operator*(std::int64_t n) const {
    WorkTime time = *this;
    for (std::int64_t& cause_ns : time.by_cause_ns) cause_ns *= n;
    time.total_ns *= n;
    return time;
  }
};

/// Time of computation on a GPU that takes slow_down times as long as others, to the nearest nanosecond.
std::int64_t slowed_ns(std::int64_t time_ns, double slow_down);

// slow_down: factor on the time of every kernel. Exchanges and the host's work are not changed.

/// Attention of one layer and pass. Ring transfers that attention does not hide count as sequence exchange.
WorkTime attention_time(const RingPrice& ring, Cause cause, double slow_down = 1);
/// attention: its price where the segment is attention.
WorkTime segment_time(const PassSegment& segment, const RingPrice* attention, double slow_down = 1);
/// A part of a pass, of its layers one.
WorkTime part_time(const PassList& pass, const PassPart& part, double slow_down = 1);
/// One layer. The backward pass of a checkpointed layer includes its recomputation.
WorkTime layer_time(const MicroBatchPrice& price, const LayerForm& form, bool is_forward,
                    double slow_down = 1);
/// A whole chunk, with its embedding and head. The forward pass includes the framework's overhead.
WorkTime pass_time(const PassList& pass, double slow_down = 1);
inline WorkTime forward_time(const MicroBatchPrice& price, const ChunkShape& chunk, double slow_down = 1) {
  return pass_time(PassList(price, chunk, true), slow_down);
}
inline WorkTime backward_time(const MicroBatchPrice& price, const ChunkShape& chunk, double slow_down = 1) {
  return pass_time(PassList(price, chunk, false), slow_down);
}

}  // namespace packsim
