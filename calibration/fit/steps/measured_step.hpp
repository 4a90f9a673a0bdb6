#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibration/fit/steps/step_terms.hpp"
#include "models/kernels/measurement.hpp"
#include "models/memory/peak_memory.hpp"

namespace packsim {

/// A measured step as the models see it.
struct MeasuredStep {
  const Measurement* row = nullptr;
  Transformer model = {};  ///< cut to the layers that were run
  Cluster cluster = {};    ///< the GPUs that it ran on
  ParallelPlan plan = {};  ///< as its case and its source say
  StepTerms terms = {};
  /// None where launches were queued ahead, as calibration/steps does it: nothing waits for them.
  std::optional<StepLaunches> launches = {};
  std::int64_t largest_pack_tokens = 0;
  int n_micro_batches = 0;

  /// launch_s: of a launch.
  double time_s(const TimeFactors& factors, double launch_s) const {
    return terms.time_s(factors) + (launches ? launches->waits_s(factors, launch_s) : 0);
  }
};

/// The plan of a source's steps, beside what their cases say: where it has none, as calibration/steps runs
/// them.
ParallelPlan source_plan(const MeasurementSource& source);

/// The steps among the measurements, which are kept by reference. Throws std::invalid_argument with every
/// reason why one of them cannot exist.
std::vector<MeasuredStep> measured_steps(const Measurements& measurements,
                                         const std::function<Transformer(const std::string&)>& model,
                                         const Cluster& cluster, const HardwareProfile& hardware);

/// What PyTorch's allocator has handed out at the peak, which is that of the step's largest micro-batch.
double allocated_bytes(const MeasuredStep& step);

}  // namespace packsim
