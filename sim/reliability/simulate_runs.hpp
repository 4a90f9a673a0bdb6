#pragma once

#include <cstdint>

#include "sim/reliability/failure_model.hpp"
#include "sim/reliability/reliability_result.hpp"

namespace packsim {

/// The run's time from n_replicas runs, simulated from failure to failure. The same seed gives the same runs;
/// a replica's failures do not depend on how many replicas there are.
///
/// Throws std::invalid_argument for mistakes in the model, for n_replicas below 1, and where the replicas
/// come to more than 2e7 failures, as they do where intervals are much longer than the time between failures.
ReliabilityResult simulate_runs(double work_s, std::int64_t n_gpus, const FailureModel& model,
                                std::int64_t n_replicas, std::uint64_t seed);

}  // namespace packsim
