#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/step/step_pricer.hpp"
#include "planning/bound/pipeline_chain.hpp"
#include "planning/group_selection/candidate_groups.hpp"

namespace packsim {

/// Seconds by cause.
using SecondsByCause = std::array<double, kNCauses>;

/// What all packs of a PackFloor have in common.
struct PackFloorSetting {
  ParallelPlan plan;             ///< its ZeRO stage and degrees decide what fits in memory
  int stage = 0;                 ///< the pipeline stage whose GPU time is counted
  std::int64_t most_tokens = 0;  ///< the most tokens of any pack, padding included
  /// Micro-batches of a rank in a step, all of the pack's size. A pipeline holds the more of them at a time,
  /// the more there are.
  int n_micro_batches = 1;
  /// Whether the framework's cost of a micro-batch counts.
  bool counts_overhead = true;
  double sums_s = 0;  ///< time to add a pack's gradients to earlier ones
  /// Time that computation waits for weights and gradients in every pack.
  double states_s = 0;
};

/// The least time that samples take in packs of one sequence degree, with the fewest checkpointed layers that
/// fit in memory. It includes computation, exchanges inside the rank, and the framework's overhead for a
/// micro-batch, but no communication that computation may hide.
///
/// A pack that holds a sample has at least as many tokens as the sample. So each token of the sample costs at
/// least the lowest time per token of all such packs. The sample's attention costs at least as much as the
/// document takes with as many checkpointed layers as its own tokens require. Times per token are computed at
/// every token count that the pricer prices exactly, and on both sides of every count at which one more layer
/// must be checkpointed. Between these counts the time of a pack is linear in its tokens, so the lowest time
/// per token is at one of them.
class PackFloor {
 public:
  /// pricer: kept by reference, and used for no other plan meanwhile. Its plan is that of the setting; only
  /// its ZeRO stage and checkpointed layers may differ, as prices do not depend on them.
  PackFloor(const Job& job, StepPricer& pricer, const PackFloorSetting& setting);

  /// Whether a pack can hold a sample of this length.
  bool holds(std::int32_t length_tokens) const;
  /// The most tokens on each GPU of a pack; 0 if there is no pack that fits.
  std::int64_t most_tokens_per_gpu() const { return intervals_.empty() ? 0 : intervals_.back().last_tokens; }
  // The following are only for samples for which holds() is true.
  /// Least GPU time of the sample, summed over the GPUs of the stage that share its pack.
  double gpu_s(std::int32_t length_tokens) const;
  /// The same if no layer recomputed anything: no more than gpu_s() of a plan that checkpoints layers in
  /// another way, unless it keeps less of them.
  double gpu_s_without_recomputation(std::int32_t length_tokens) const;
  /// Adds the GPU time of n_samples samples by cause.
  void add_gpu_s(std::int32_t length_tokens, double n_samples, SecondsByCause& by_cause_s) const;
  /// Least time from the start of a step to the end of the sample's pack.
  double alone_s(std::int32_t length_tokens) const;
  /// Adds times of which each pack that holds the sample takes no less than some mean, for the sample's part:
  /// GPU time in both directions, summed as in gpu_s(), for each second of `gpu_s`. Only without
  /// overhead.
  void add_units(std::int32_t length_tokens, double gpu_s, std::vector<PassTimes>& units) const;

 private:
  // Range of token counts on a GPU at which the same number of layers is checkpointed.
  struct Interval {
    std::int64_t first_tokens = 1;
    std::int64_t last_tokens = 0;
    int n_layers = 0;                // number of layers of the stage
    int n_attention_recomputed = 0;  // number of its layers that run attention once more
    std::vector<ChunkShape> chunks = {};
  };
  struct Point {
    std::int64_t tokens = 0;   // on each GPU
    std::size_t interval = 0;  // index in intervals_
    double pack_s = 0;
    PassTimes passes_s = {};
    // Index of the point with the least time per token from this one on.
    std::size_t least_rate = 0;
    double least_pack_s = 0;                      // the least of this point and all larger ones
    double least_rate_without_recomputation = 0;  // time per token: the same
    SecondsByCause by_cause_s = {};
    double rate() const { return pack_s / static_cast<double>(tokens); }
  };
  struct Attention {
    double forward_s = 0;
    double backward_s = 0;  // without recomputation
    double recompute_s = 0;
  };

  void set_intervals(const Job& job);
  void set_points();
  void set_least_rates();
  bool add_points(std::size_t interval, double& least_rate);
  Point price(std::int64_t tokens, std::size_t interval) const;
  Point price(const MicroBatchPrice& price, std::int64_t tokens, const Interval& interval) const;
  const Interval& interval_of(std::int64_t tokens) const;
  std::size_t first_point(std::int64_t tokens) const;
  const Point& cheapest_from(std::int64_t tokens) const;
  double least_pack_s_from(std::int64_t tokens) const;
  std::int64_t tokens_per_gpu(std::int32_t length_tokens) const;
  Attention attention(std::int32_t length_tokens) const;
  double attention_alone_s(std::int32_t length_tokens) const;

  StepPricer& pricer_;
  PackFloorSetting setting_;
  int gpus_ = 1;  // number of GPUs that share a pack
  std::vector<Interval> intervals_;
  Interval without_recomputation_;
  std::vector<Point> points_;  // ascending
  // [n_points] passes for each token, of the point and all larger ones: least_passes(). Only without
  // overhead.
  std::vector<std::vector<PassTimes>> least_rates_;
  double overhead_s_ = 0;
  StepPricer::AttentionCost launch_;
  StepPricer::AttentionCost longest_s_per_token_;
};

}  // namespace packsim
