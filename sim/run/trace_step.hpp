#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packing/schedule/schedule.hpp"
#include "sim/engine/op_trace.hpp"
#include "sim/run/iteration_ranks.hpp"

namespace packsim {

/// The GPUs that one lane of a trace stands for: those of one pipeline stage of a data-parallel rank.
struct TracedLane {
  int rank = 0;
  int stage = 0;
  int first_gpu = 0;
  int n_gpus = 1;
};

/// When a lane computed a micro-batch's pass through a chunk of the model, waits included. A pass that
/// computes nothing is left out.
struct TracedPass {
  std::uint32_t lane = 0;
  StreamId stream = 0;  ///< The stream on which it computes.
  std::uint32_t chunk = 0;
  std::uint32_t micro_batch = 0;  ///< index among those of its rank
  /// The position of its pack among those of the iteration, or IterationRanks::kNoPack.
  std::uint32_t pack = 0;
  bool is_forward = true;
  SimTime start = {};
  SimTime end = {};
};

struct TracedStep {
  std::vector<TracedLane> lanes;  ///< by TracedOp::rank
  std::vector<TracedOp> ops;
  std::vector<TracedPass> passes;  ///< those of one lane in the order in which it runs them
  SimTime start;
  SimTime end;
};

/// Runs one iteration of the schedule by itself, from time `start` on, with all of its ranks. Under
/// StepDetail::micro_batches, an operation is all that a rank does until it waits for others, or the layers
/// of a unit of weights. n_text_ranks: ranks that the caller will write as text, whose memory
/// options.most_step_bytes also limits, for StepDetail::stages. Throws what simulate() throws, and
/// std::out_of_range for an iteration that the schedule does not have.
TracedStep trace_step(const Schedule& schedule, std::span<const PricedGroup> groups,
                      SimulationOptions options, std::size_t iteration_index, SimTime start = {},
                      std::size_t n_text_ranks = 0);

}  // namespace packsim
