#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "models/step/step_pricer.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// The pricers of one scenario's plans, with all that they have priced so far. For one thread.
class ScenarioPricers {
 public:
  explicit ScenarioPricers(const Scenario& scenario);  // kept by reference

  /// The pricer of a plan, with its number of checkpointed layers; good until the next call with a plan that
  /// differs in nothing else.
  StepPricer& of(const ParallelPlan& plan);
  /// Of all plans on the scenario's cluster.
  const std::shared_ptr<KernelPricer>& kernels() const { return kernels_; }
  /// Ends what prices refer to that are cheap to make again.
  void forget_interpolated();

 private:
  const Scenario& scenario_;
  std::shared_ptr<KernelPricer> kernels_;
  std::vector<std::pair<ParallelPlan, std::unique_ptr<StepPricer>>> pricers_;  // plans without checkpointing
};

/// Lends pricers to strategies, which run on any number of threads: each has its own while it runs, and
/// begins with what others that are done have priced. A price is the same whoever asks for it, so results do
/// not depend on who runs beside whom.
class SharedPrices {
 public:
  /// The scenario is kept by reference, and all pricers come back before this ends.
  explicit SharedPrices(const Scenario& scenario) : scenario_(scenario) {}

  /// Comes back when the last owner ends.
  std::shared_ptr<ScenarioPricers> lend();

 private:
  void take_back(std::unique_ptr<ScenarioPricers> pricers);

  const Scenario& scenario_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<ScenarioPricers>> idle_;
};

}  // namespace packsim
