#pragma once

#include <array>
#include <vector>

#include "models/coverage/published_step.hpp"
#include "models/framework_factors.hpp"
#include "models/step/step_price.hpp"

namespace packsim {

/// What a training step takes on one of its GPUs, and what that is made of.
struct SimulatedStep {
  double step_s = 0;
  /// GPU seconds by cause, over the step's GPUs, and idle: they sum up to step_s.
  std::array<double, kNCauses> by_cause_s = {};
  double idle_s = 0;
};

/// A published step in simulated time, each run of kernels and each exchange by itself. All its data-parallel
/// ranks do the same at the same time, so that one of them is simulated; exchanges cost what they cost among
/// all.
///
/// Throws std::invalid_argument for a plan that has mistakes.
SimulatedStep simulate_step(const PublishedStep& step, const HardwareProfile& hardware,
                            const FrameworkFactors& factors);

}  // namespace packsim
