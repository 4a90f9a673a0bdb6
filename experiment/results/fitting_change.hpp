#pragma once

#include <optional>
#include <string>
#include <vector>

namespace packsim {

/// A change of a job under which a strategy fits in GPU memory, simulated from the changed scenario.
struct FittingChange {
  std::string what;                   ///< "4 nodes in place of 2"
  std::vector<std::string> settings;  ///< --set with these makes it
  double gpu_days = 0;
  /// Low to high is meant to hold nine of ten true GPU-days; 0 where no such interval is known.
  double gpu_days_low = 0;
  double gpu_days_high = 0;
  bool trains_asked_job = true;  ///< whether the changed run may be compared (StrategyResult::differences)
};

/// The search for a change under which the strategy fits that comes nearest to it.
struct FittingSearch {
  std::string strategy;
  int n_tried = 0;  ///< changes that were tried until one was found
  /// One under which it trains the job that was asked for, if there is any; none if none makes it fit alone.
  std::optional<FittingChange> found;
};

}  // namespace packsim
