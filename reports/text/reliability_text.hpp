#pragma once

#include <string>

#include "experiment/results/report.hpp"
#include "sim/reliability/failure_model.hpp"
#include "sim/variability/variability.hpp"

/// What a scenario assumes of its machine, in one line.
namespace packsim::formats_detail {

/// "h100-sxm-80gb, 32 GPUs at 2.50 an hour"; without a price just the GPUs
std::string cluster_text(const RunManifest& manifest);

/// "GPUs spread by 2.0%, kernels by 5.0%; GPU 3 takes 1.15 times as long; seed 1024"
std::string variability_text(const Variability& variability);

/// "start-up 300 s; evaluation of 2.00M tokens every 500 iterations"
std::string beside_steps_text(const BesideSteps& beside);

/// "a GPU fails every 50,677 h; checkpoints at the best interval, writes of 49.4 s, 10.0% of it in front of
/// the work; restarts of 409 s; replacements at hand"
std::string failures_text(const FailureModel& model);

}  // namespace packsim::formats_detail
