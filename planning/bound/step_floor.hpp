#pragma once

#include "models/step/step_pricer.hpp"

namespace packsim {

/// The least time that weights, gradients and the optimizer of one pipeline stage cost on each of its GPUs.
struct StepFloor {
  /// Time of every step in addition to its packs: reducing the last bucket of gradients (all gradients, if
  /// they are reduced after the backward pass), the optimizer, gathering changed weights unless the next
  /// forward pass hides this, and the framework's overhead.
  double step_s = 0;
  /// Time for which the computation of a pack waits for weights and gradients (ZeRO 2 and 3 without overlap).
  double pack_s = 0;
  /// Time to add the gradients of a pack to those of earlier packs.
  double sums_s = 0;
};

/// pricer: of the plan. stage: the pipeline stage.
StepFloor step_floor(StepPricer& pricer, int stage);

}  // namespace packsim
