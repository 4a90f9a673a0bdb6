#pragma once

#include <span>
#include <vector>

namespace packsim {

/// One way to run a sample.
struct SampleChoice {
  double time_s = 0;  ///< time from the start of the step to the end of its pack
  double gpu_s = 0;   ///< GPU time, summed over the GPUs of its pack
};

/// The least time T that passes the dual test of moldable tasks (Turek, Wolf and Yu, SPAA 1992): every sample
/// has a way to run that takes at most T, and the cheapest of these ways need, summed over all samples, at
/// most n_gpus x T of GPU time. No schedule of an iteration's samples takes less. T is at least the samples'
/// GPU time over the GPUs, and at least the time of the longest sample by its fastest way.
///
/// choices: [n_samples][at least one]. Takes O(n log n) time for n choices in all.
double iteration_bound(std::span<const std::vector<SampleChoice>> choices, int n_gpus);

}  // namespace packsim
