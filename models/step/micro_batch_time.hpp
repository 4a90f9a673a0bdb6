#pragma once

#include "models/step/step_price.hpp"

namespace packsim {

/// A part of a micro-batch on one GPU, one thing after another.
struct WorkTime {
  NsByCause by_cause_ns = {};
  std::int64_t total_ns = 0;

  void add(Cause cause, std::int64_t time_ns) {
    by_cause_ns[static_cast<std::size_t>(cause)] += time_ns;
    total_ns += time_ns;
  }
  WorkTime& operator+=(const WorkTime& other) {
    for (std::size_t c = 0; c < by_cause_ns.size(); ++c) by_cause_ns[c] += other.by_cause_ns[c];
    total_ns += other.total_ns;
    return *this;
  }
};

/// What computation takes on a GPU that is so many times slower than others, to the nearest nanosecond.
std::int64_t slowed_ns(std::int64_t time_ns, double slow_down);

// slow_down: of every kernel; exchanges and the framework take what they take.

/// Of a ring, what its transfers leave exposed is the exchange's.
WorkTime attention_time(const RingPrice& ring, Cause cause, double slow_down = 1);
/// Attention not included.
WorkTime phase_time(const PricedPhase& phase, double slow_down = 1);
/// One layer of a kind; of the backward pass with its recomputation where it is checkpointed.
WorkTime layer_forward_time(const MicroBatchPrice& price, bool has_experts, double slow_down = 1);
WorkTime layer_backward_time(const MicroBatchPrice& price, bool has_experts, bool is_checkpointed,
                             double slow_down = 1);

/// All of a chunk; forward with the framework's overhead.
WorkTime forward_time(const MicroBatchPrice& price, const ChunkShape& chunk, double slow_down = 1);
WorkTime backward_time(const MicroBatchPrice& price, const ChunkShape& chunk, double slow_down = 1);

}  // namespace packsim
