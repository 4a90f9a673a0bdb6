#pragma once

#include <cstdint>
#include <span>

namespace packsim {

/// Samples of one length, and what each of them takes at least, however it is packed.
struct SampleFloor {
  std::int32_t length_tokens = 0;  ///< over 0
  std::int64_t n_samples = 0;
  double gpu_s = 0;    ///< time of all GPUs together, in whichever pack it is
  double alone_s = 0;  ///< from the start of a step to the end of the sample's pack
};

/// The steps of an epoch.
struct EpochLimits {
  int n_gpus = 1;
  std::int64_t tokens_per_iteration = 0;  ///< at most, and at least the longest sample
  double step_s = 0;  ///< what every step takes beside its packs, at least 0, while all GPUs wait
};

struct EpochBound {
  double time_s = 0;            ///< the three parts below added up
  double busy_s = 0;            ///< the packs' GPU time over the GPUs
  double waiting_s = 0;         ///< added by steps that wait for their longest samples
  double steps_s = 0;           ///< step_s of all steps
  std::int64_t iterations = 0;  ///< the fewest
  std::int64_t waiting_iterations = 0;
};

/// Every schedule that trains each sample once, whole in one step, takes at least this long. The proof is in
/// docs/bound.md.
/// samples: any order. n log n.
EpochBound epoch_bound(std::span<const SampleFloor> samples, const EpochLimits& limits);

}  // namespace packsim
