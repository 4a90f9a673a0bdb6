#include "planning/bound/step_floor.hpp"

#include "models/state_traffic.hpp"

namespace packsim {
namespace {

// These are sums over one chunk of the stage, in whole nanoseconds.
struct UnitSums {
  std::int64_t gather_ns = 0;
  std::int64_t reduce_ns = 0;
  std::int64_t sum_ns = 0;
};

UnitSums add_up(const StatesPrice& states) {
  UnitSums sums;
  for (const StateUnit& unit : states.units) {
    sums.gather_ns += unit.gather_ns;
    sums.reduce_ns += unit.reduce_ns;
    sums.sum_ns += unit.sum_ns;
  }
  return sums;
}

}  // namespace

StepFloor step_floor(StepPricer& pricer, int stage) {
  const ParallelPlan& plan = pricer.plan();
  std::int64_t step_ns = pricer.states(stage).step_ns;
  std::int64_t pack_ns = 0;
  std::int64_t sums_ns = 0;
  for (int chunk = stage; chunk < plan.n_chunks(); chunk += plan.pp_degree) {
    const StatesPrice& states = pricer.states(chunk);
    const UnitSums sums = add_up(states);
    sums_ns += sums.sum_ns;
    step_ns += states.optimizer_ns;
    const bool waits_for_all = gathers_every_step(plan) && !plan.execution.overlaps_states;
    if (gathers_after_optimizer(plan) || waits_for_all) step_ns += sums.gather_ns;
    if (plan.execution.overlaps_states) {
      // The first layers' gradients are there last; a stage ends with its first chunk.
      if (chunk == stage) step_ns += states.units.front().reduce_ns;
    } else if (reduces_after_backward(plan)) {
      step_ns += sums.reduce_ns;
    } else {
      // Weights are gathered forward and backward.
      pack_ns += sums.reduce_ns + (gathers_every_pass(plan) ? 2 * sums.gather_ns : 0);
    }
  }
  return {.step_s = 1e-9 * static_cast<double>(step_ns),
          .pack_s = 1e-9 * static_cast<double>(pack_ns),
          .sums_s = 1e-9 * static_cast<double>(sums_ns)};
}

}  // namespace packsim
