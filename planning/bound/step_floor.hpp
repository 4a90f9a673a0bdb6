#pragma once

#include "models/step/step_pricer.hpp"

namespace packsim {

/// What the states of one pipeline stage cost at least, on each of its GPUs.
struct StepFloor {
  /// Of a step, after its last computation: the last bucket of gradients, or all of them where computation
  /// hides none; the optimizer; changed weights, unless the next forward pass hides them; the framework's
  /// overhead.
  double step_s = 0;
  /// Of a pack: states that its computation waits for (ZeRO 2 and 3 without overlap).
  double pack_s = 0;
  /// Of a pack: adding its gradients to those of earlier packs.
  double sums_s = 0;
};

/// pricer: of the plan whose states these are.
StepFloor step_floor(StepPricer& pricer, int stage);

}  // namespace packsim
