#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "models/step/step_price.hpp"
#include "packing/schedule/schedule.hpp"
#include "sim/run/iteration_ranks.hpp"

namespace packsim {

/// The result of simulating a schedule. Times are in simulated seconds.
struct SimulatedRun {
  std::vector<double> step_s;  ///< [n_iterations], or fewer if SimulationOptions::most_total_s has ended it
  double total_s = 0;
  double step_mean_s = 0;
  double step_p99_s = 0;  ///< nearest rank: the smallest step that 99 % of the steps do not exceed

  /// GPU time by cause, as a share of all GPU time; communication that computation hides is not in it. With
  /// idle_fraction the sum is 1.
  std::array<double, kNCauses> fraction = {};
  /// The same of the lane of each step that waits least, which the time of the step is made of.
  std::array<double, kNCauses> busiest_fraction = {};
  double idle_fraction = 0;  ///< share in which GPUs wait for slower ranks and other pipeline stages
  std::uint64_t n_events = 0;
};

/// Runs every iteration of the schedule in simulated time, one after another.
///
/// groups: [n_groups of the schedule]. progress, if given, is called from time to time with the number of
/// iterations that are done. Throws what StepBuilder::build() and OpEngine::run() throw, StepTooLarge, and
/// std::invalid_argument for mistakes in the variability of the plans' GPUs and where ranks have to wait.
SimulatedRun simulate(const Schedule& schedule, std::span<const PricedGroup> groups,
                      const SimulationOptions& options = {},
                      const std::function<void(std::int64_t)>& progress = {});

}  // namespace packsim
