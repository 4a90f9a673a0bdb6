#pragma once

#include <span>
#include <vector>

#include "experiment/plans/plan_strategy.hpp"
#include "experiment/pricers/shared_prices.hpp"
#include "experiment/results/report.hpp"
#include "packing/sequence_parallelism.hpp"
#include "planning/bound/lower_bound.hpp"
#include "scenarios/scenario.hpp"

namespace packsim {

/// The part of a strategy's schedule on which a lower bound depends.
struct TrainedData {
  ParallelPlan plan = {};  ///< but for degrees of sequences and checkpointed layers, which a bound chooses
  /// Lengths of the samples of one epoch, in ascending order; empty if last iterations leave packs out, and
  /// if tokens attend to other samples.
  std::vector<LengthCount> lengths;
  std::int64_t most_pack_tokens = 0;  ///< padding included
  std::vector<SequenceParallelism> sequences;
};
TrainedData trained_data(const PlannedStrategy& plan);

/// Adds the lower bounds to a report that has all its runs. trained: [n_runs]. prices: of the scenario.
void set_bounds(const Scenario& scenario, std::span<const TrainedData> trained, SharedPrices& prices,
                Report& report);

}  // namespace packsim
