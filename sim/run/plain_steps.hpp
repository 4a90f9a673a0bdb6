#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "models/step/micro_batch_time.hpp"
#include "sim/engine/op_account.hpp"
#include "sim/step/rank_work.hpp"

namespace packsim {

/// A step whose ranks first meet after their last backward pass, when they reduce gradients.
struct PlainStep {
  std::int64_t time_ns = 0;
  std::vector<WorkTime> work;         ///< [n_ranks], as StepRun::work
  std::vector<RankAccount> accounts;  ///< [n_ranks], as take_account() has it where operations are merged
};

/// Finds plain steps and adds up their times, which are those that a simulation of their events gives, to the
/// nanosecond. Only for steps in which nothing contends and stages are not shown. Keeps its memory from step
/// to step, and the times of each micro-batch.
class PlainSteps {
 public:
  /// The step of these ranks; null if it is not plain. It is valid until the next call. The ranks' prices
  /// must stay where they are as long as this object exists.
  const PlainStep* find(std::span<const RankWork> ranks);

 private:
  const WorkTime& micro_batch_time(const MicroBatchPrice& price, const ChunkShape& chunk);

  std::unordered_map<const MicroBatchPrice*, WorkTime> times_;
  PlainStep step_;
};

}  // namespace packsim
