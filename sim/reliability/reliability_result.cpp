#include "sim/reliability/reliability_result.hpp"

namespace packsim {

ReliabilityResult failure_free(const RunClock& clock) {
  ReliabilityResult result;
  result.work_s = clock.work_s();
  result.checkpoint_s = clock.end_s() - clock.work_s();
  result.checkpoint_interval_s = clock.interval_s();
  result.n_checkpoints = clock.n_periods();
  return result;
}

}  // namespace packsim
