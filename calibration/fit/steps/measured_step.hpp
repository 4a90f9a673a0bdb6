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
  Transformer model = {};            ///< cut to the layers that were run
  Cluster cluster = {};              ///< the GPUs that it ran on
  ParallelPlan plan = {};            ///< as its case and its source say
  std::vector<StepPack> packs = {};  ///< micro-batches of one rank
  StepTerms terms = {};
  std::int64_t largest_pack_tokens = 0;
};

/// The plan of a source's steps, beside what their cases say: where it has none, as calibration/steps runs
/// them.
ParallelPlan source_plan(const MeasurementSource& source);

/// The steps among the measurements, which are kept by reference. Throws std::invalid_argument with every
/// reason why one of them cannot exist.
std::vector<MeasuredStep> measured_steps(const Measurements& measurements,
                                         const std::function<Transformer(const std::string&)>& model,
                                         const Cluster& cluster, const HardwareProfile& hardware);

/// How long a GPU of the step would wait for its host, at the launches of its plan and these factors.
double host_wait_s(const MeasuredStep& step, const HardwareProfile& hardware,
                   const FrameworkFactors& factors);

/// What PyTorch's allocator has handed out at the peak, which is that of the step's largest micro-batch.
double allocated_bytes(const MeasuredStep& step);

}  // namespace packsim
