#pragma once

#include <cstdint>

#include "sim/reliability/failure_model.hpp"
#include "sim/reliability/reliability_result.hpp"

namespace packsim {

/// The run's time from closed forms. Its mean and standard deviation are exact; the quantiles come from the
/// numerical inversion of its transform and are good to 1 % of the standard deviation. Times are infinite for
/// a run that would never finish, as its intervals are hundreds of times the time between failures.
///
/// work_s: how long the work takes if nothing fails and nothing is saved.
/// Throws std::invalid_argument for mistakes in the model, and for spare units that are neither none nor
/// unlimited, which only simulate_runs() knows: the time then depends on failures before the last checkpoint.
ReliabilityResult expected_run(double work_s, std::int64_t n_gpus, const FailureModel& model);

}  // namespace packsim
