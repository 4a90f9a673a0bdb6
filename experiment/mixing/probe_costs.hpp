#pragma once

#include <vector>

#include "experiment/mixing/mixed_draws.hpp"
#include "experiment/plans/plan_strategy.hpp"
#include "experiment/pricers/shared_prices.hpp"
#include "experiment/results/mixture_result.hpp"

namespace packsim {

/// The training beside which rewards are measured.
struct ProbedTraining {
  double total_s = 0;
  double step_mean_s = 0;
  double idle_fraction = 0;
  OverLong over_long = OverLong::error;  ///< probes are cut or left out as samples are
};

/// The cost of a mixture's updates, first as the scenario measures rewards and then in other ways, for a
/// strategy whose packs run as `plan` says. update_s: receives the time of each update in the scenario's way.
///
/// A probe runs as a pack of the shortest group that holds it. With weights that are gathered for every pass
/// (ZeRO 3) or experts of several ranks, spread passes run in lockstep, and a pass takes at least as long as
/// its gathers; a pipeline runs at the pace of its slowest stage. Forward passes are hidden only while ranks
/// wait for each other, and neither in a pipeline nor in lockstep. Of more than 256 updates, 256 evenly
/// spaced ones are priced.
std::vector<ProbeCost> probe_costs(const Scenario& scenario, const MixedDraws& draws,
                                   const PlannedStrategy& plan, const ProbedTraining& training,
                                   ScenarioPricers& pricers, std::vector<double>& update_s);

}  // namespace packsim
