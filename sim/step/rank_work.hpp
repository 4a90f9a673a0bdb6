#pragma once

#include <vector>

#include "models/parallel_plan.hpp"
#include "models/step/pass/pass_time.hpp"
#include "models/step/step_pricer.hpp"

namespace packsim {

/// A plan and the prices that all its steps share. Chunks of layers are in the order in which a micro-batch
/// goes through them; without pipeline parallelism there is one chunk.
struct PricedPlan {
  ParallelPlan plan;
  std::vector<ChunkShape> chunks;
  /// [n_chunks]; each layer of a chunk is in exactly one of its units.
  std::vector<StatesPrice> states;
  /// [pp_degree]: whether a stage and the next one are in the same node. The last entry is for the last stage
  /// and the first. Empty: all transfers between stages are between nodes.
  std::vector<bool> sends_in_node = {};
};

/// Prices all chunks of the pricer's plan.
PricedPlan price_plan(StepPricer& pricer);

/// How and where a micro-batch runs, if that differs from its rank's plan.
struct MicroBatchPlace {
  const PricedPlan* plan = nullptr;  ///< may have another sequence degree and other checkpointed layers
  int first_gpu = 0;                 ///< the first of the GPUs that share the micro-batch
  /// Identifies the micro-batch in its step; the same for all ranks that share it.
  std::uint32_t id = 0;
};

/// A point at which ranks wait for each other before one of their micro-batches. All ranks that have a sync
/// point with this id must arrive before any of them continues.
struct SyncPoint {
  /// Index of the rank's micro-batch before which it waits; the number of micro-batches means after the last
  /// one.
  std::uint32_t before = 0;
  std::uint32_t id = 0;
  /// Whether the ranks compute the micro-batch together and take part in the same exchanges.
  bool is_shared = false;
};

/// What the passes of a micro-batch through a plan's only chunk take where nothing slows them down.
struct MicroBatchTimes {
  std::int64_t forward_ns = 0;
  std::int64_t forward_wait_ns = 0;  ///< for launches, of forward_ns
  std::int64_t most_ahead_ns = 0;    ///< PassSegment's
  WorkTime both;                     ///< forward and backward
};

/// A micro-batch of a rank.
struct RankMicroBatch {
  const MicroBatchPrice* price = nullptr;
  const MicroBatchTimes* times = nullptr;  ///< where they are known

  RankMicroBatch(const MicroBatchPrice* of_price = nullptr, const MicroBatchTimes* known = nullptr)
      : price(of_price), times(known) {}
};

/// The work of one data-parallel rank in one step. The GPUs of one of its pipeline stages all do the same at
/// the same time, so only one of them is simulated.
struct RankWork {
  const PricedPlan* plan = nullptr;
  int first_gpu = 0;
  /// Number of GPUs of one pipeline stage of the rank. 0: as many as share a sequence under the plan.
  int own_stage_gpus = 0;
  std::vector<RankMicroBatch> micro_batches = {};  ///< There may be none, or more than another rank has.
  std::vector<MicroBatchPlace> places = {};  ///< [n_micro_batches]; empty: all run as the rank's plan says
  std::vector<SyncPoint> sync_points = {};   ///< in ascending order; only without pipeline parallelism
  /// [pp_degree]: factor on the priced computation of each stage, which is that of its slowest GPU. Empty: 1.
  std::vector<double> stage_slow_down = {};
  /// [n_chunks x n_micro_batches x 2], forward and backward: such factors for single passes, which replace
  /// those of the stages. Empty: every pass has its stage's factor.
  std::vector<double> pass_slow_down = {};

  /// The rank's first GPU in a pipeline stage.
  int stage_gpu(std::size_t stage) const {
    return first_gpu + static_cast<int>(stage) * (plan->plan.n_gpus / plan->plan.pp_degree);
  }
  int stage_gpus() const { return own_stage_gpus > 0 ? own_stage_gpus : plan->plan.sequence_gpus(); }
  const PricedPlan& plan_of(std::size_t micro_batch) const {
    return places.empty() ? *plan : *places[micro_batch].plan;
  }
  double slow_down(std::size_t stage) const { return stage_slow_down.empty() ? 1 : stage_slow_down[stage]; }
  double slow_down(std::size_t chunk, std::size_t micro_batch, bool is_forward) const {
    if (stage_slow_down.empty() && pass_slow_down.empty()) return 1;
    if (pass_slow_down.empty()) return stage_slow_down[chunk % stage_slow_down.size()];
    return pass_slow_down[2 * (chunk * micro_batches.size() + micro_batch) + (is_forward ? 0 : 1)];
  }
};

}  // namespace packsim
