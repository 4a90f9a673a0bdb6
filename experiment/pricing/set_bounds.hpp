#pragma once

#include <span>
#include <vector>

#include "experiment/plans/plan_strategy.hpp"
#include "experiment/pricing/shared_prices.hpp"
#include "experiment/results/report.hpp"
#include "packing/sequence_parallelism.hpp"
#include "planning/bound/lower_bound.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// What a strategy trains, as far as a lower bound depends on it.
struct TrainedData {
  int zero_stage = 1;
  bool overlaps_states = false;      ///< of its plan
  std::vector<LengthCount> lengths;  ///< ascending, of one epoch; none: last iterations leave packs out
  std::int64_t most_iteration_tokens = 0;
  std::int64_t most_pack_tokens = 0;  ///< padding included
  std::vector<SequenceParallelism> sequences;
};
TrainedData trained_data(const PlannedStrategy& plan);

/// Adds the lower bounds to a report whose runs are there. trained: [n_runs]. prices: of the scenario.
void set_bounds(const Scenario& scenario, std::span<const TrainedData> trained, SharedPrices& prices,
                Report& report);

}  // namespace packsim
