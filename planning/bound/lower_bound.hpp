#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "packing/sequence_parallelism.hpp"
#include "planning/bound/pack_floor.hpp"
#include "planning/bound/step_floor.hpp"
#include "planning/group_selection/candidate_groups.hpp"

namespace packsim {

/// The schedules over which a bound holds. Every sample lies whole in one pack.
struct BoundSpace {
  /// Of packs, beside all SP degrees that are powers of two, each with the plan's ring.
  std::vector<SequenceParallelism> sequences = {};
  std::int64_t tokens_per_iteration = 0;  ///< at most, of the data; a longer sample is a step alone
  std::int64_t most_pack_tokens = 0;      ///< padding included; no less than tokens_per_iteration counts
  int epochs = 1;
};

/// Samples of one length.
struct LengthCount {
  std::int32_t length_tokens = 0;
  std::int64_t n_samples = 0;
  bool operator==(const LengthCount&) const = default;
};

/// GPU time that no schedule of the space stays below, and what it consists of.
struct LowerBound {
  int zero_stage = 1;
  double gpu_s = 0;                 ///< all below added up
  SecondsByCause packs_gpu_s = {};  ///< computation and exchange of packs, with the least recomputation
  double steps_gpu_s = 0;           ///< what every step takes beside its packs
  double waiting_gpu_s = 0;         ///< for samples that take longer than their step's share
  std::int64_t iterations = 0;      ///< the fewest, over all epochs
};

/// Lower bounds for one model on one cluster. The proof is in docs/bound.md.
class LowerBounds {
 public:
  /// What the job refers to is kept by reference. plan: its own SP degree and checkpointed layers are not
  /// read; its tensor and pipeline parallelism stay as they are. kernels: of the job, of nobody else
  /// meanwhile; null: its own.
  LowerBounds(const Job& job, const ParallelPlan& plan, const BoundSpace& space,
              std::shared_ptr<KernelPricer> kernels = nullptr);

  /// Nothing where a sample fits in no pack or the plan allows no such ZeRO stage. lengths: each once, over
  /// 0.
  std::optional<LowerBound> at(int zero_stage, std::span<const LengthCount> lengths);

 private:
  struct Stage {
    std::vector<PackFloor> floors;  // of each degree
    double step_s = 0;
  };
  ParallelPlan plan_of(int zero_stage, const SequenceParallelism& sequence) const;
  int busiest_stage();
  const Stage& stage(int zero_stage);

  Job job_;
  ParallelPlan plan_;
  BoundSpace space_;
  std::shared_ptr<KernelPricer> kernels_;
  std::vector<std::unique_ptr<StepPricer>> pricers_;  // of each degree
  int pipeline_stage_ = 0;
  std::map<int, Stage> stages_;  // by ZeRO stage
};

}  // namespace packsim
