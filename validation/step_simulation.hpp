#pragma once

#include <array>

#include "models/coverage/published_step.hpp"
#include "models/framework_factors.hpp"
#include "models/step/price_account.hpp"
#include "models/step/step_price.hpp"

namespace packsim {

/// The time of a training step, and its parts.
struct SimulatedStep {
  double step_s = 0;
  /// Mean seconds of a GPU by cause. Together with idle_s they add up to step_s.
  std::array<double, kNCauses> by_cause_s = {};
  double idle_s = 0;
  PriceAccount account = {};  ///< what the prices of its kernels rest on
};

/// Simulates a published step, with every run of kernels and every exchange as an operation of its own. All
/// data-parallel ranks do the same at the same time, so only one is simulated; exchanges are priced as those
/// of all ranks.
///
/// Throws std::invalid_argument for a plan that has mistakes.
SimulatedStep simulate_step(const PublishedStep& step, const HardwareProfile& hardware,
                            const FrameworkFactors& factors);

}  // namespace packsim
