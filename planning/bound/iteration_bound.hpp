#pragma once

#include <span>
#include <vector>

namespace packsim {

/// One way to run a sample.
struct SampleChoice {
  double time_s = 0;  ///< of its GPUs, from the start of the step on
  double gpu_s = 0;   ///< of all of them together
};

/// The least time T that passes the dual test of moldable tasks (Turek, Wolf and Yu, SPAA 1992): every sample
/// has a way to run that takes at most T, and the cheapest of these ways together need no more GPU time than
/// n_gpus have in T. No schedule of an iteration's samples takes less. T is at least the samples' GPU time
/// over the GPUs, and at least the time of the longest sample by its fastest way.
///
/// choices: [n_samples][at least one]. n log n in all of them.
double iteration_bound(std::span<const std::vector<SampleChoice>> choices, int n_gpus);

}  // namespace packsim
