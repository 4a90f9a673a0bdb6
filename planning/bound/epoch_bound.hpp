#pragma once

#include <cstdint>
#include <span>

namespace packsim {

/// Samples of one length, and the least that each of them takes however it is packed.
struct SampleFloor {
  std::int32_t length_tokens = 0;  ///< above 0
  std::int64_t n_samples = 0;
  double gpu_s = 0;  ///< least GPU time, summed over GPUs
  /// Least time from the start of a step to the end of the sample's pack.
  double alone_s = 0;
};

/// What limits the steps of an epoch.
struct EpochLimits {
  int n_gpus = 1;
  std::int64_t tokens_per_iteration = 0;  ///< the most tokens of a step; at least the longest sample
  /// The most tokens that steps have on average, over all epochs; 0: as many as tokens_per_iteration.
  double mean_tokens_per_iteration = 0;
  /// What every step takes in addition to its packs, while all GPUs wait; at least 0.
  double step_s = 0;
};

struct EpochBound {
  double time_s = 0;            ///< sum of the four parts below
  double busy_s = 0;            ///< GPU time of the packs, divided by the number of GPUs
  double waiting_s = 0;         ///< time that steps wait for their longest samples, or for pipelines to fill
  double fixed_s = 0;           ///< fixed_s of the lines
  double steps_s = 0;           ///< step_s times the fewest steps
  std::int64_t iterations = 0;  ///< the fewest possible
  std::int64_t waiting_iterations = 0;
};

/// A lower bound on the time of a step: work times the GPU time of its samples on each GPU, plus fixed_s.
struct StepLine {
  double work = 1;
  double fixed_s = 0;
};

/// A lower bound on the time of every schedule that trains each sample once, whole and in one step. The proof
/// is in docs/bound.md.
///
/// samples: in any order. Takes O(n log n) time.
EpochBound epoch_bound(std::span<const SampleFloor> samples, const EpochLimits& limits);

/// The same where every step takes at least as long as the lowest of these lines, of which there is at least
/// one. Time to wait for the longest samples is not counted.
EpochBound epoch_bound(std::span<const SampleFloor> samples, const EpochLimits& limits,
                       std::span<const StepLine> lines);

}  // namespace packsim
