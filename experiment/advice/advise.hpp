#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/advice/changes.hpp"
#include "experiment/results/strategy_result.hpp"

namespace packsim {

/// A change of a job, and what the changed job takes.
struct AdvisedChange {
  std::vector<std::string_view> what;  ///< one; two where only both together make a plan fit
  Settings settings;                   ///< --set with these simulates the same
  std::optional<std::string> refused;  ///< why the changed job cannot be simulated; none if it can
  bool feasible = false;               ///< whether it fits in GPU memory
  /// Low to high is meant to hold nine of ten true GPU-days; 0 where no such interval is known.
  double gpu_days_low = 0;
  double gpu_days_high = 0;
  std::optional<double> gpu_days;  ///< none if it was refused or does not fit
  bool trains_asked_job = true;    ///< whether it may be compared (StrategyResult::differences)
};

struct Advice {
  std::string strategy;
  bool feasible = false;
  std::optional<double> gpu_days;  ///< of the job as it is
  /// Those that fit and train the job that was asked for, the fastest first; then the others.
  std::vector<AdvisedChange> changes;
  /// The same for ideal_changes(), which no setting of a real job reaches; none if the job does not fit.
  std::vector<AdvisedChange> limits;
};

/// What one change of the job would bring to a strategy, each simulated from the changed scenario. If the
/// strategy's plan does not fit in memory: which changes make it fit, and where none does alone, which two.
///
/// load: reads the scenario with settings (load_scenario()). strategy: its name; the fastest of the
/// scenario's comparable strategies if empty. estimated: called once before packing, with the estimated time
/// of the job and of all single changes on one thread. Throws what load and compare_strategies() throw for
/// the job as it is.
Advice advise(const std::function<Scenario(const Settings&)>& load, const std::string& strategy,
              int n_threads, const std::function<void(const std::string&)>& progress,
              const std::function<void(double work_s)>& estimated = {});

}  // namespace packsim
