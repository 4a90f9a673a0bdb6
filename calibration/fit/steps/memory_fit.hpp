#pragma once

#include "calibration/fit/steps/step_fit.hpp"
#include "models/memory/peak_memory.hpp"

namespace packsim {

/// The two memory numbers with which the fewest checkpointed layers that fit are nearest to the rows' ones,
/// and out-of-memory rows fit with none. Verdicts are steps, so ranges of both tie: the middle of the best.
MemoryAssumptions fit_memory_verdicts(const StepFitProblem& problem);

/// Tokens that a GPU holds between the blocks.
double tokens_per_gpu(const StepRow& row);

}  // namespace packsim
