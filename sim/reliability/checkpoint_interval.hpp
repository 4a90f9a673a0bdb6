#pragma once

#include <cstdint>

#include "sim/reliability/failure_model.hpp"
#include "sim/reliability/run_clock.hpp"

namespace packsim {

/// The interval with the least expected time of the run, among those that divide the work into equal parts;
/// work_s if it is best to write none before the end. If a part is written in the background, the interval is
/// not much shorter than that takes, because the next write waits for it.
/// model.checkpoint_interval_s is not read. Throws std::invalid_argument for a mistake in the model.
double optimal_interval_s(double work_s, std::int64_t n_gpus, const FailureModel& model);

/// The run with the interval of the model or, where it has none, the optimal one. Throws
/// std::invalid_argument for mistakes in the model.
RunClock run_with_checkpoints(double work_s, std::int64_t n_gpus, const FailureModel& model);

}  // namespace packsim
