#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "packing/sequence_parallelism.hpp"
#include "planning/bound/chunk_shares.hpp"
#include "planning/bound/epoch_bound.hpp"
#include "planning/bound/pack_floor.hpp"
#include "planning/bound/pipeline_steps.hpp"
#include "planning/bound/step_floor.hpp"
#include "planning/group_selection/candidate_groups.hpp"

namespace packsim {

/// The schedules for which a bound holds. In all of them, every sample lies whole in one pack.
struct BoundSpace {
  /// Sequence parallelism of packs, in addition to all SP degrees that are powers of two, each with the ring
  /// of the plan.
  std::vector<SequenceParallelism> sequences = {};
  /// The most tokens of the data in one iteration; a longer sample has a step of its own.
  std::int64_t tokens_per_iteration = 0;
  /// The most tokens that iterations have on average; 0: as many as tokens_per_iteration.
  double mean_tokens_per_iteration = 0;
  /// The most tokens of a pack, padding included. Should be no less than tokens_per_iteration.
  std::int64_t most_pack_tokens = 0;
  int epochs = 1;
};

/// Samples of one length.
struct LengthCount {
  std::int32_t length_tokens = 0;
  std::int64_t n_samples = 0;
  bool operator==(const LengthCount&) const = default;
};

/// The least GPU time of any schedule of the space, and its parts.
struct LowerBound {
  int zero_stage = 1;
  double gpu_s = 0;  ///< sum of the three parts below
  /// Computation and exchange of packs, with the least recomputation.
  SecondsByCause packs_gpu_s = {};
  double steps_gpu_s = 0;  ///< what every step takes in addition to its packs
  /// Waiting for samples that take longer than their step's share, and for pipelines to fill and drain.
  double waiting_gpu_s = 0;
  std::int64_t iterations = 0;  ///< the fewest possible, over all epochs
};

/// Lower bounds for one model on one cluster. The proof is in docs/bound.md.
class LowerBounds {
 public:
  /// What the job refers to is kept by reference. plan: its tensor and pipeline parallelism are used as they
  /// are; its SP degree and checkpointed layers are not read. store: what is priced of the job, which
  /// nothing else may use at the same time; null: nothing. most_offload: what plans may keep in host memory
  /// beside what `plan` does, which costs no time here.
  LowerBounds(const Job& job, const ParallelPlan& plan, const BoundSpace& space,
              std::shared_ptr<PriceStore> store = nullptr, const Offload& most_offload = {});

  /// The lower bound under one ZeRO stage, or none if a sample fits in no pack or the plan does not allow the
  /// stage. lengths: each length once, above 0. A bound of more than `enough_gpu_s` may be lower than it
  /// could be: pipelines then need not be filled.
  std::optional<LowerBound> at(int zero_stage, std::span<const LengthCount> lengths,
                               double enough_gpu_s = std::numeric_limits<double>::infinity());
  /// A simpler and lower bound of GPU time in seconds, which also holds for plans that keep more of a
  /// checkpointed layer than this one: nothing is recomputed. Infinite where at() has none.
  double gpu_s_without_recomputation(int zero_stage, std::span<const LengthCount> lengths);

 private:
  using Floors = std::vector<PackFloor>;  // [n_degrees]
  // What bounds the steps of a pipeline.
  struct Filling {
    Floors full;      // for ranks with as many micro-batches as there are stages
    Floors one_only;  // for ranks with one; empty if the schedule does not allow that
    PassCosts costs;
    std::vector<double> chunk_shares;
    double step_s = 0;
  };
  struct Stage {
    Floors floors;
    double step_s = 0;
    std::optional<Filling> filling;  // once it has been asked for
  };
  // Packs of some floors, whose times count `factor` times.
  struct Ways {
    const Floors& floors;
    double factor = 1;
  };
  // The samples of an epoch, and the GPU time of all of them by cause.
  struct Samples {
    std::vector<SampleFloor> floors;
    SecondsByCause by_cause_s = {};
  };
  static std::optional<Samples> cheapest(std::span<const LengthCount> lengths, std::span<const Ways> ways);
  static std::vector<PassTimes> units(std::span<const LengthCount> lengths, const Floors& floors);
  ParallelPlan plan_of(int zero_stage, const SequenceParallelism& sequence) const;
  int busiest_stage();
  Floors floors(int zero_stage, const PackFloorSetting& setting);
  Stage& stage(int zero_stage);
  const Filling& filling(int zero_stage);
  StepPricer states(int zero_stage) const;
  std::optional<LowerBound> filled(const Filling& filling, std::span<const LengthCount> lengths,
                                   EpochLimits limits) const;
  EpochLimits limits_of(const Stage& stage, std::span<const LengthCount> lengths) const;
  LowerBound bound_of(const EpochBound& epoch, const SecondsByCause& packs_s) const;

  Job job_;
  ParallelPlan plan_;
  BoundSpace space_;
  std::shared_ptr<PriceStore> store_;
  Offload most_offload_;
  std::vector<std::unique_ptr<StepPricer>> pricers_;  // [n_degrees]
  int pipeline_stage_ = 0;
  std::map<int, Stage> stages_;  // by ZeRO stage
};

}  // namespace packsim
