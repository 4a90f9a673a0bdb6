#pragma once

#include <cstdint>

#include "sim/reliability/failure_model.hpp"
#include "sim/reliability/run_clock.hpp"

namespace packsim {

/// sqrt(2 write MTBF), for a write that is short against the time between failures of the run.
/// Source: Young, A first order approximation to the optimum checkpoint interval, CACM 17 (1974).
double young_interval_s(double write_s, double mtbf_s);

/// sqrt(2 write MTBF) (1 + sqrt(x) / 3 + x / 9) - write with x = write / (2 MTBF), for write < 2 MTBF; MTBF
/// beyond.
/// Source: Daly, A higher order estimate of the optimum checkpoint interval for restart dumps, Future
/// Generation Computer Systems 22 (2006).
double daly_interval_s(double write_s, double mtbf_s);

/// The interval with the least expected time of the run, among those that divide the work into equal parts;
/// work_s where that is no checkpoint before the end. Where a background part is written, an interval is not
/// much below it: the next write waits for it.
/// Takes no notice of model.checkpoint_interval_s. Throws std::invalid_argument for a mistake in the model.
double optimal_interval_s(double work_s, std::int64_t n_gpus, const FailureModel& model);

/// The run with the interval of the model or, where it has none, the optimal one. Throws
/// std::invalid_argument for mistakes in the model.
RunClock run_with_checkpoints(double work_s, std::int64_t n_gpus, const FailureModel& model);

}  // namespace packsim
