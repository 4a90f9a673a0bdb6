#pragma once

#include "models/step/step_pricer.hpp"

namespace packsim {

/// What the states of one pipeline stage cost at least, on each of its GPUs.
struct StepFloor {
  /// A step, behind its last computation: the last bucket of gradients that travels, or all of them where
  /// computation hides none, the optimizer, changed weights unless the next forward pass hides them, and the
  /// framework.
  double step_s = 0;
  /// A pack, whose computation waits for them: ZeRO 2 and 3 without overlap.
  double pack_s = 0;
  /// Adding the gradients of a pack to those before it on its GPUs.
  double sums_s = 0;
};

/// pricer: of the plan whose states these are.
StepFloor step_floor(StepPricer& pricer, int stage);

}  // namespace packsim
