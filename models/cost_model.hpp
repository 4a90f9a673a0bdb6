#pragma once

#include "packing/schedule.hpp"

namespace packsim {

/// Where the time of one micro-batch goes on the GPUs of its rank, in seconds.
struct MicroBatchTime {
  double linear_s = 0;     ///< matrix products, forward and backward
  double attention_s = 0;  ///< attention, forward and backward
  double recompute_s = 0;  ///< both, once more, in checkpointed layers
  double alltoall_s = 0;   ///< sequence-parallel exchange, recompute's included
  double overhead_s = 0;   ///< fixed

  double total_s() const { return linear_s + attention_s + recompute_s + alltoall_s + overhead_s; }

  MicroBatchTime& operator+=(const MicroBatchTime& other) {
    linear_s += other.linear_s;
    attention_s += other.attention_s;
    recompute_s += other.recompute_s;
    alltoall_s += other.alltoall_s;
    overhead_s += other.overhead_s;
    return *this;
  }
};

/// What the simulator asks of a cost model. The engine knows durations only, so a better model is a new
/// implementation of this.
class CostModel {
 public:
  virtual ~CostModel() = default;
  virtual MicroBatchTime micro_batch(const MicroBatch& batch, const GroupPlan& plan) const = 0;
  /// Once an iteration, after the last rank has finished.
  virtual double iteration_s() const = 0;
};

}  // namespace packsim
