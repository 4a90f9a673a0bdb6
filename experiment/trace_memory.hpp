#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "experiment/plans/plan_strategy.hpp"
#include "models/memory/peak_memory.hpp"
#include "scenarios/scenario.hpp"
#include "sim/run/trace_step.hpp"

namespace packsim {

/// What a GPU of a lane holds from a moment on, until its next one.
struct TracedMemory {
  std::uint32_t lane = 0;
  SimTime time;
  MemoryPeak held;
};

/// The memory of one GPU of each lane of a traced step, in order of lane and time, with one value for each
/// moment. The moments are those that the memory model knows (PlanMemory):
/// - between steps: weights, gradients and optimizer states, and what is always there;
/// - after a forward pass: in addition what the micro-batches that are on their way keep;
/// - during a backward pass: its largest moment, which for the last chunk begins with the loss; then what the
///   other micro-batches keep;
/// - while the optimizer steps: with its copies of gradients.
/// What a forward pass needs beyond what it keeps is not in the model, and not in here. Micro-batches have
/// their own sizes, padding included, so that the values stay below the peak of a report, which is for the
/// largest pack. iteration: the one that was traced.
std::vector<TracedMemory> trace_memory(const Scenario& scenario, const PlannedStrategy& plan,
                                       std::size_t iteration, const TracedStep& step);

}  // namespace packsim
