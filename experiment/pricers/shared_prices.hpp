#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/step/step_pricer.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/search_space/plan_hash.hpp"
#include "sim/run/plan_cost.hpp"

namespace packsim {

/// The pricers of one scenario's plans, with everything that they have priced so far. Only one thread may use
/// an object.
class ScenarioPricers {
 public:
  explicit ScenarioPricers(const Scenario& scenario);  // kept by reference

  /// The pricer of a plan, set to the plan's checkpointed layers. It is valid until the next call for a plan
  /// that differs only in its checkpointed layers.
  StepPricer& of(const ParallelPlan& plan);
  /// The cost of packs of up to this length under a plan with its checkpointed layers.
  const PlanCost& cost(const ParallelPlan& plan, std::int64_t capacity_tokens);
  /// The same from fewer points: close enough to rule plans out.
  const PlanCost& rough_cost(const ParallelPlan& plan, std::int64_t capacity_tokens);
  /// What all pricers of the scenario's plans share.
  const std::shared_ptr<PriceStore>& store() const { return store_; }
  /// Deletes interpolated prices, which are cheap to compute again. Prices that refer to them become invalid.
  void forget_interpolated();
  /// Deletes the interpolated prices, and all of plans but those that were asked for most. A search leaves
  /// those of many.
  void forget_rare_plans();

 private:
  const Scenario& scenario_;
  std::shared_ptr<PriceStore> store_;
  struct KnownPricer {
    std::unique_ptr<StepPricer> pricer;
    std::int64_t n_asked = 0;
  };
  using Pricers = std::unordered_map<ParallelPlan, KnownPricer, PlanHash>;
  Pricers pricers_;                  // by the plan without checkpointing
  std::vector<StepPricer*> recent_;  // asked for since interpolated prices were deleted
  const PlanCost& cost_at(const ParallelPlan& plan, std::int64_t capacity_tokens, int points_per_octave);
  struct KnownCosts {
    std::map<std::pair<std::int64_t, int>, PlanCost> by_length;  // and by points_per_octave
    PackTimes pack_times;
  };
  std::unordered_map<ParallelPlan, KnownCosts, PlanHash> costs_;  // references to costs stay valid
};

/// Lends pricers to strategies, which run on any number of threads. Each strategy has pricers of its own
/// while it runs, and they keep what finished strategies have priced. A price is the same whoever asks for
/// it, so results do not depend on which strategies run at the same time.
class SharedPrices {
 public:
  /// The scenario is kept by reference. All lent pricers must have come back before this object ends.
  explicit SharedPrices(const Scenario& scenario) : scenario_(scenario) {}

  /// Lends pricers, which come back when their last owner releases them.
  std::shared_ptr<ScenarioPricers> lend();

 private:
  void take_back(std::unique_ptr<ScenarioPricers> pricers) noexcept;

  const Scenario& scenario_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<ScenarioPricers>> idle_;
};

}  // namespace packsim
