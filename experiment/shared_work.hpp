#pragma once

#include <functional>
#include <memory>

#include "experiment/data_set.hpp"
#include "experiment/pricers/shared_prices.hpp"
#include "experiment/results/strategy_result.hpp"
#include "experiment/shared/once_map.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// The prices of a cluster, and the scenario that they refer to.
struct JobPrices {
  std::unique_ptr<const Scenario> scenario;
  std::unique_ptr<SharedPrices> prices;
};

/// What jobs have in common, made once for all of them: data sets, packs, schedules, prices and results. Jobs
/// may run at the same time. Their results do not depend on it.
class SharedWork {
 public:
  std::shared_ptr<const DataSet> data(const Scenario& scenario);
  /// Prices of the scenario's model on its cluster.
  std::shared_ptr<const JobPrices> prices(const Scenario& scenario);
  /// The result of a strategy in any job that gives it the same one. make: simulates it.
  StrategyResult result(const Scenario& scenario, const StrategySpec& spec,
                        const std::function<StrategyResult()>& make);

 private:
  static constexpr std::size_t kMostDataSets = 4;
  static constexpr std::size_t kMostPrices = 4;
  static constexpr std::size_t kMostResults = 1024;
  OnceMap<DataSet> data_{kMostDataSets};
  OnceMap<JobPrices> prices_{kMostPrices};
  OnceMap<StrategyResult> results_{kMostResults};
};

}  // namespace packsim
