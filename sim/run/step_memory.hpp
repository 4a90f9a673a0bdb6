#pragma once

#include <span>
#include <stdexcept>
#include <string>

#include "sim/step/rank_work.hpp"

namespace packsim {

/// A step at op level that takes more memory than there is.
class StepTooLarge : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Roughly how many operations ranks have in one step at op level: within 17 % of the nine jobs that
/// the numbers were chosen from, of 128 to 4 096 ranks. A rank has 10 for a layer and micro-batch, 16 more if
/// several GPUs share the sequence, and 15 more if GPUs exchange tokens of experts.
double estimated_ops(std::span<const RankWork> ranks);

/// Memory that simulate() takes for one step at op level, or trace_step() if all operations are kept.
/// Measured: 78 to 110 bytes an operation, and 143 to 214 with a trace.
double estimated_step_bytes(std::span<const RankWork> ranks, bool is_traced);

/// Throws StepTooLarge, which says what takes less, if `needed_bytes` is more than `most_bytes`.
void require_memory(double needed_bytes, double most_bytes);

}  // namespace packsim
