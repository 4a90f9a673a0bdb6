#pragma once

#include <span>
#include <vector>

namespace packsim {

/// One way to run a sample.
struct SampleChoice {
  double time_s = 0;  ///< of its GPUs, from the start of the step on
  double gpu_s = 0;   ///< of all of them together
};

/// The least time in which n_gpus could train an iteration's samples: in which each has a way to be done in
/// time, and all together have no more GPU time than there is, each by its cheapest way of those (the dual
/// test of moldable tasks: Turek, Wolf and Yu, SPAA 1992). At least the samples' GPU time over the GPUs and
/// the time of the longest sample by its fastest way.
///
/// choices: [n_samples][at least one]. n log n in all of them.
double iteration_bound(std::span<const std::vector<SampleChoice>> choices, int n_gpus);

}  // namespace packsim
