#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/step/step_pricer.hpp"
#include "planning/group_selection/candidate_groups.hpp"

namespace packsim {

/// Time by cause, seconds.
using SecondsByCause = std::array<double, kNCauses>;

/// What all packs of a floor have in common.
struct PackFloorSetting {
  ParallelPlan plan;             ///< its ZeRO stage and degrees decide what fits
  int stage = 0;                 ///< the pipeline stage whose GPUs count
  std::int64_t most_tokens = 0;  ///< of any pack, padding included
  double sums_s = 0;             ///< adding a pack's gradients to earlier ones
  double states_s = 0;           ///< what computation waits for in every pack
};

/// What samples take at least in packs of one sequence degree, with the fewest checkpointed layers that fit
/// in memory. It counts computation, exchange inside the rank, and the framework's overhead of a micro-batch,
/// but nothing that computation may hide.
///
/// A pack that holds a sample has at least as many tokens as the sample. So each of the sample's tokens costs
/// at least the lowest rate of all such packs, and its attention costs at least what the document takes with
/// the layers that its own tokens force to be checkpointed. Rates are computed at every token count that the
/// pricer prices exactly, and on both sides of every count at which one more layer is checkpointed. Between
/// these counts times are straight lines, so the lowest rate is at an end.
class PackFloor {
 public:
  /// pricer: of the setting's plan but for the ZeRO stage and checkpointed layers, on which prices do not
  /// depend; kept by reference, with no other plan's.
  PackFloor(const Job& job, StepPricer& pricer, const PackFloorSetting& setting);

  /// Whether any pack can hold it.
  bool holds(std::int32_t length_tokens) const;
  // Of samples for which holds() is true.
  /// GPU time of the stage's GPUs that share the pack.
  double gpu_s(std::int32_t length_tokens) const;
  /// Adds so many samples' GPU time by cause.
  void add_gpu_s(std::int32_t length_tokens, double n_samples, SecondsByCause& by_cause_s) const;
  /// From the start of a step to the end of the sample's pack.
  double alone_s(std::int32_t length_tokens) const;

 private:
  // Token counts of a GPU at which the same number of layers is checkpointed.
  struct Interval {
    std::int64_t first_tokens = 1;
    std::int64_t last_tokens = 0;
    int n_layers = 0;  // of the stage
    int n_checkpointed = 0;
    std::vector<ChunkShape> chunks = {};
  };
  struct Point {
    std::int64_t tokens = 0;   // on each GPU
    std::size_t interval = 0;  // of intervals_
    double pack_s = 0;
    std::size_t least_rate = 0;  // the point with the least time a token from here on
    double least_pack_s = 0;     // from here on
    SecondsByCause by_cause_s = {};
    double rate() const { return pack_s / static_cast<double>(tokens); }
  };
  struct Attention {
    double passes_s = 0;
    double recompute_s = 0;
  };

  void set_intervals(const Job& job);
  void set_points();
  bool add_points(std::size_t interval, double& least_rate);
  Point price(std::int64_t tokens, std::size_t interval) const;
  const Interval& interval_of(std::int64_t tokens) const;
  std::size_t first_point(std::int64_t tokens) const;
  const Point& cheapest_from(std::int64_t tokens) const;
  double least_pack_s_from(std::int64_t tokens) const;
  std::int64_t tokens_per_gpu(std::int32_t length_tokens) const;
  Attention attention(std::int32_t length_tokens) const;
  double attention_alone_s(std::int32_t length_tokens) const;

  StepPricer& pricer_;
  PackFloorSetting setting_;
  int gpus_ = 1;  // that share a pack
  std::vector<Interval> intervals_;
  std::vector<Point> points_;  // ascending
  double overhead_s_ = 0;
  StepPricer::AttentionCost launch_;
  StepPricer::AttentionCost longest_s_per_token_;
};

}  // namespace packsim
