#pragma once

#include <optional>

#include "experiment/results/strategy_result.hpp"
#include "models/cluster.hpp"

namespace packsim {

/// What a run of these times costs on the cluster: money where it has a price, energy where it states the
/// GPUs' power. whole: the run with what it takes beside its steps, where that is said.
RunCost run_cost(const Cluster& cluster, const RunTimes& times, const std::optional<WholeRun>& whole,
                 const std::optional<FailureCost>& failures);

}  // namespace packsim
