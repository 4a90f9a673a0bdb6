#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <variant>

#include "experiment/plans/plan_strategy.hpp"
#include "scenarios/scenario.hpp"
#include "sim/run/trace_step.hpp"

namespace packsim {

/// Which iteration to trace: one by its step time, or one by its position.
enum class TracedBy { median, slowest };
using TracedIteration = std::variant<TracedBy, std::size_t>;

/// One step of a strategy, at op level.
struct StrategyTrace {
  PlannedStrategy plan;
  std::size_t iteration = 0;
  TracedStep step;
};

/// Packs the scenario's data with the strategy of this name, and simulates one of its iterations at op level
/// with every operation kept. progress receives progress messages.
///
/// Throws std::invalid_argument if the scenario has no such strategy, if its plan does not fit in memory or
/// trains nothing, or if the iteration is out of range; and what the length readers, check_strategies() and
/// pack() throw.
StrategyTrace trace_strategy(const Scenario& scenario, const std::string& name, const TracedIteration& which,
                             const std::function<void(const std::string&)>& progress);

}  // namespace packsim
