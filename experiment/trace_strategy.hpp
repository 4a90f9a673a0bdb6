#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "experiment/plans/plan_strategy.hpp"
#include "experiment/trace_memory.hpp"
#include "scenarios/scenario.hpp"
#include "sim/run/trace_step.hpp"

namespace packsim {

/// Which iteration to trace: one by its step time, or one by its position.
enum class TracedBy { median, slowest };
using TracedIteration = std::variant<TracedBy, std::size_t>;

/// One iteration as it ran, and the memory that it held.
struct StrategyStep {
  std::size_t iteration = 0;
  TracedStep step;
  std::vector<TracedMemory> memory;
};

/// Steps of a strategy that follow each other, at op level. Each starts when the one before has ended.
struct StrategyTrace {
  PlannedStrategy plan;
  std::vector<StrategyStep> steps;
};

struct TraceOptions {
  std::size_t n_steps = 1;  ///< iterations that are traced, one after another
  /// Most memory for the steps and their text, in bytes; more throws StepTooLarge before it is simulated.
  double most_step_bytes = std::numeric_limits<double>::infinity();
  /// Ranks whose operations the caller will write as text; 0: all. Only most_step_bytes depends on it.
  int n_text_ranks = 0;
  /// Called with progress messages.
  std::function<void(const std::string&)> progress = {};
  /// Called once before packing, with estimated_trace_s().
  std::function<void(double work_s)> estimated = {};
};

/// Packs the scenario's data with the strategy of this name, and simulates options.n_steps of its iterations,
/// `which` and those after it, at op level with every operation kept.
///
/// Throws std::invalid_argument if the scenario has no such strategy, if its plan does not fit in memory or
/// trains nothing, or if an iteration is out of range; and what the length readers, check_strategies() and
/// pack() throw.
StrategyTrace trace_strategy(const Scenario& scenario, const std::string& name, const TracedIteration& which,
                             const TraceOptions& options = {});

}  // namespace packsim
